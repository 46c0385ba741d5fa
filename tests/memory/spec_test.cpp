// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/core/policy_spec.hpp>
#include <tier/memory/spec.hpp>

#include <random>
#include <string>
#include <tuple>

#include "support/fuzz.hpp"
#include "support/seed.hpp"

namespace tier::spec_test {

namespace {

std::string message_of(std::string_view text) {
  try {
    std::ignore = parse_tiers(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

TierSpec with_pages(TierSpec spec, std::mt19937_64& random) {
  spec.pages = static_cast<PageKind>(random() % 3);
  return spec;
}

std::string random_nodes(std::mt19937_64& random) {
  auto nodes = std::to_string(random() % 512);
  if (random() % 2 == 0) nodes += "-" + std::to_string(512 + random() % 512);
  if (random() % 2 == 0) nodes += "," + std::to_string(random() % 1024);
  return nodes;
}

TierSpec random_spec(std::mt19937_64& random) {
  const Bytes size{1 + (random() >> (1 + random() % 63)) % ((1ULL << 62) - 1)};
  std::string path;
  for (auto n = 1 + random() % 20; n > 0; --n) {
    const auto byte =
        random() % 3 == 0 ? std::string{":;\\,="}[random() % 5] : static_cast<char>(1 + random() % 255);
    path += byte;
  }
  const std::string model{model_names()[random() % model_names().size()]};
  switch (random() % 8) {
    case 0:
      return with_pages(tiers::dram(size), random);
    case 5:
      return with_pages(tiers::numa(random_nodes(random), size), random);
    case 6:
      return tiers::pmem(path, size);
    case 7:
      return tiers::memkind(random() % 2 == 0 ? "/" + path : "HIGHEST_CAPACITY", size);
    case 1:
      return random() % 2 == 0 ? tiers::file("new=" + path, size) : tiers::file(tiers::NewFile{path}, size);
    case 2:
      return tiers::mapped(path, size);
    case 3:
      return with_pages(tiers::emulated(model, size), random);
    default:
      return tiers::simulated(model, size);
  }
}

}  // namespace

TEST_CASE("a spec is read as the tiers that it names, in order") {
  const auto specs =
      parse_tiers("dram:512MiB;file:/path:8GiB;mapped:a file:4GB;emulated:cxl:1.5GiB;simulated:redl:1TiB");
  REQUIRE(specs.size() == 5);
  CHECK(specs[0] == tiers::dram(512_MiB));
  CHECK(specs[1] == tiers::file("/path", 8_GiB));
  CHECK(specs[2] == tiers::mapped("a file", Bytes{4'000'000'000}));
  CHECK(specs[3] == tiers::emulated("cxl", 1536_MiB));
  CHECK(specs[4] == tiers::simulated("redl", 1_TiB));
}

TEST_CASE("real memory is named by its nodes, its path or its kind, and memory by its pages") {
  const auto specs = parse_tiers(
      "numa:1:2GiB;numa:0-1,3:1GiB:pages=hugetlb;pmem:/mnt/pmem:1GiB;memkind:HBW:1GiB;memkind:/mnt/"
      "pmem:1GiB;dram:1GiB:"
      "pages=small;emulated:cxl:1GiB:pages=huge");
  REQUIRE(specs.size() == 7);
  CHECK(specs[0] == tiers::numa("1", 2_GiB));
  auto reserved = tiers::numa("0-1,3", 1_GiB);
  reserved.pages = PageKind::Hugetlb;
  CHECK(specs[1] == reserved);
  CHECK(specs[2] == tiers::pmem("/mnt/pmem", 1_GiB));
  CHECK(specs[3] == tiers::memkind("HBW", 1_GiB));
  CHECK(specs[4] == tiers::memkind("/mnt/pmem", 1_GiB));
  auto small = tiers::dram(1_GiB);
  small.pages = PageKind::Small;
  CHECK(specs[5] == small);
  CHECK(specs[6] == tiers::emulated("cxl", 1_GiB));
  CHECK(to_string(specs) ==
        "numa:1:2GiB;numa:0-1,3:1GiB:pages=hugetlb;pmem:/mnt/pmem:1GiB;memkind:HBW:1GiB;memkind:/mnt/"
        "pmem:1GiB;dram:"
        "1GiB:pages=small;emulated:cxl:1GiB");
}

TEST_CASE("a backslash makes ordinary characters of delimiters in a path") {
  const auto specs = parse_tiers(R"(file:/odd\:name\;with\\slash:1GiB;dram:1GiB)");
  REQUIRE(specs.size() == 2);
  CHECK(specs[0].path == R"(/odd:name;with\slash)");
  CHECK(to_string(specs) == R"(file:/odd\:name\;with\\slash:1GiB;dram:1GiB)");
}

TEST_CASE("the text of tiers reads back as the same tiers, whatever bytes a path has") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 5'000; ++i) {
    std::vector<TierSpec> specs(1 + random() % 4);
    for (auto& spec : specs) spec = random_spec(random);
    const auto text = to_string(specs);
    CAPTURE(text);
    REQUIRE(parse_tiers(text) == specs);
  }
}

TEST_CASE("a spec that is not one is refused with its position and what is allowed") {
  const std::string forms =
      "; allowed: dram:SIZE, numa:NODES:SIZE, pmem:PATH:SIZE, memkind:KIND:SIZE, file:PATH:SIZE, "
      "mapped:PATH:SIZE (PATH a folder, or new=FILE), "
      "emulated:MODEL:SIZE, simulated:MODEL:SIZE, node:NODES:SIZE, fastest:SIZE, largest:SIZE, hbm:SIZE, "
      "cxl:SIZE";
  CHECK(message_of("") == "expected a tier at position 0 of \"\"" + forms);
  CHECK(message_of("dram:1GiB;") == "expected a tier at position 10 of \"dram:1GiB;\"" + forms);
  CHECK(message_of("dram:1GiB;ram:2GiB") ==
        "unknown tier \"ram\" (did you mean \"dram\"?) at position 10 of \"dram:1GiB;ram:2GiB\"" + forms);
  CHECK(message_of("dram") == "expected : and a size at position 4 of \"dram\"" + forms);
  CHECK(message_of("file:/path") == "expected : and a size at position 10 of \"file:/path\"" + forms);
  CHECK(
      message_of("emulated:floppy:1GiB") ==
      "unknown model \"floppy\" at position 9 of \"emulated:floppy:1GiB\"; allowed: optane, cxl, nvme, redl");
  CHECK(message_of("emulated:1GiB").starts_with("unknown model \"1GiB\" at position 9"));
  CHECK(message_of("simulated::1GiB").starts_with("expected a model at position 10"));
  CHECK(message_of("dram:").starts_with(
      "expected a size at position 5 of \"dram:\"; allowed: a number and B, kB"));
  CHECK(message_of("dram:12Q")
            .starts_with("unknown unit \"Q\" at position 7 of \"dram:12Q\"; allowed: a number and"));
  CHECK(message_of("dram:1GB;file:/x:1kib")
            .starts_with("unknown unit \"kib\" (did you mean \"KiB\"?) at position 18 of "));
  CHECK(message_of("dram:1GiB:page=small")
            .starts_with(
                "unknown option \"page=small\" of memory (did you mean \"pages=small\"?) at position 10"));
  CHECK(message_of("emulated:clx:1GiB")
            .starts_with("unknown model \"clx\" (did you mean \"cxl\"?) at position 9"));
  CHECK(message_of("memkind:hbw:1GiB")
            .starts_with("unknown kind \"hbw\" (did you mean \"HBW\"?) at position 8"));
  CHECK(message_of("dram:-1GiB").starts_with("expected a size at position 5"));
  CHECK(message_of("dram:1..2GiB").starts_with("not a possible size at position 5"));
  CHECK(message_of("dram:99999999TiB").starts_with("not a possible size at position 5"));
  CHECK(message_of("dram:0").starts_with("a size of zero at position 5"));
  CHECK(message_of("dram:1GiB;file:/x:0.1B").starts_with("a size of zero at position 18"));
  CHECK(message_of("simulated:cxl:1GiB:2GiB")
            .starts_with("text after a tier at position 18 of \"simulated:cxl:1GiB:2GiB\"; allowed: ;"));
  CHECK(message_of("file:/x:1GiB:pages=small").starts_with("text after a tier at position 12"));
  CHECK(message_of("dram:1GiB:2GiB") ==
        "unknown option \"2GiB\" of memory at position 10 of \"dram:1GiB:2GiB\"; allowed: pages=huge, "
        "pages=hugetlb, "
        "pages=small");
  CHECK(message_of("numa:0:1GiB:").starts_with("unknown option \"\" of memory at position 12"));
  CHECK(message_of("emulated:cxl:1GiB:pages=tiny")
            .starts_with("unknown option \"pages=tiny\" of memory at position 18"));
  CHECK(message_of("dram:1GiB:pages=small:x").starts_with("text after a tier at position 21"));
  CHECK(message_of("dram:1MiB;numa:0-:1GiB") ==
        "expected a node at position 17 of \"dram:1MiB;numa:0-:1GiB\"; allowed: numbers below 1024 and "
        "ranges of them: "
        "1, 0-1, 0,2");
  CHECK(message_of("numa::1GiB").starts_with("expected a node at position 5"));
  CHECK(message_of("numa:0").starts_with("expected : and a size at position 6"));
  CHECK(message_of("pmem::1GiB").starts_with("expected a path at position 5"));
  CHECK(message_of("memkind::1GiB").starts_with("expected a kind at position 8"));
  CHECK(
      message_of("memkind:TAPE:1GiB") ==
      "unknown kind \"TAPE\" at position 8 of \"memkind:TAPE:1GiB\"; allowed: HBW, DAX_KMEM, "
      "HIGHEST_CAPACITY, "
      "HIGHEST_CAPACITY_LOCAL, LOWEST_LATENCY_LOCAL, HIGHEST_BANDWIDTH_LOCAL, HBW_ALL, HBW_PREFERRED, "
      "HBW_INTERLEAVE, DAX_KMEM_ALL, DAX_KMEM_PREFERRED, DAX_KMEM_INTERLEAVE, HIGHEST_CAPACITY_PREFERRED, "
      "HIGHEST_CAPACITY_LOCAL_PREFERRED, LOWEST_LATENCY_LOCAL_PREFERRED, HIGHEST_BANDWIDTH_LOCAL_PREFERRED, "
      "or a directory, as /mnt/pmem");
  CHECK(message_of("file::1GiB").starts_with("expected a path at position 5"));
  CHECK(message_of("file:/a:b:1GiB").starts_with("expected a size at position 8 of \"file:/a:b:1GiB\""));
  CHECK(message_of("file:/a:b:1GiB").find("in a path, : is written \\:") != std::string::npos);
  CHECK(
      message_of(R"(file:/a\b:1GiB)").starts_with("a backslash before an ordinary character at position 7"));
  CHECK(message_of(R"(file:/a\)").starts_with("a backslash before an ordinary character at position 7"));
  CHECK(message_of(std::string_view{"file:/a\0b:1GiB", 14}).starts_with("a NUL at position 7"));
}

TEST_CASE(
    "a path with new= before it is that of a new file, and a folder of such a name is written with a "
    "backslash") {
  const auto specs = parse_tiers(
      R"(file:new=/mnt/a\:b=c:1GiB;mapped:new=x:2GiB;pmem:new=/p:3GiB;file:new\=x:1GiB;file:/a=b/new=c:1GiB;file:newer=:1B)");
  REQUIRE(specs.size() == 6);
  CHECK(specs[0] == tiers::file(tiers::NewFile{"/mnt/a:b=c"}, 1_GiB));
  CHECK(specs[1] == tiers::mapped(tiers::NewFile{"x"}, 2_GiB));
  CHECK(specs[2] == tiers::pmem(tiers::NewFile{"/p"}, 3_GiB));
  CHECK(specs[3] == tiers::file("new=x", 1_GiB));
  CHECK(specs[4] == tiers::file("/a=b/new=c", 1_GiB));
  CHECK(specs[5] == tiers::file("newer=", 1_B));
  CHECK(
      to_string(specs) ==
      R"(file:new=/mnt/a\:b=c:1GiB;mapped:new=x:2GiB;pmem:new=/p:3GiB;file:new\=x:1GiB;file:/a=b/new=c:1GiB;file:newer=:1)");
  CHECK(parse_tiers(to_string(specs)) == specs);
  CHECK(message_of("file:new=:1GiB") ==
        "expected a path at position 9 of \"file:new=:1GiB\"; allowed: an existing folder, or new= and a "
        "file in one");
}

TEST_CASE("a comma for a semicolon, and a blank, are called that, where they stand") {
  CHECK(message_of("dram:1GiB,file:/x:1GiB") ==
        "a comma at position 9 of \"dram:1GiB,file:/x:1GiB\"; allowed: a semicolon between tiers");
  CHECK(message_of("dram:1GiB; file:/x:1GiB") ==
        "a blank at position 10 of \"dram:1GiB; file:/x:1GiB\"; allowed: no blank around : and ;");
  CHECK(message_of("dram:1GiB ").starts_with("a blank at position 9 of "));
  CHECK(message_of("dram: 1GiB").starts_with("a blank at position 5 of "));
  CHECK(message_of("dram:1 GiB").starts_with("a blank at position 6 of "));
  CHECK(message_of(" dram:1GiB").starts_with("a blank at position 0 of "));
  CHECK(message_of("dram:1GiB;\nfile:/x:1GiB").starts_with("a blank at position 10 of "));
  CHECK(message_of("emulated: cxl:1GiB").starts_with("a blank at position 9 of "));
  CHECK(message_of("numa:0, 1:1GiB").starts_with("a blank at position 7 of "));
  CHECK(message_of("dram:1GiB:pages=small,file:/x:1GiB").starts_with("a comma at position 21 of "));
  CHECK(message_of("drum:1GiB")
            .starts_with("unknown tier \"drum\" (did you mean \"dram\"?) at position 0 of "));
  CHECK(message_of("file:/a folder, of mine:1GiB") == "no error");
}

TEST_CASE("damaged text is read as what its own text says, or refused with a message" *
          doctest::test_suite("fuzz")) {
  const std::vector<std::string> examples{"dram:512MiB;file:/path:8GiB;emulated:cxl:8GiB",
                                          "mapped:a file:4GB;simulated:redl:1TiB",
                                          "dram:1.5GiB:pages=hugetlb",
                                          "numa:0-1,3:8GiB;memkind:HBW:1GiB;pmem:/mnt/pmem:1GiB",
                                          "file:/a\\:b\\;c\\\\d:18446744073709551615",
                                          "file:new=/a=b:1GiB;pmem:new\\=a:1GiB",
                                          "hint_aware:mode=LM,prefetch=off",
                                          "lru",
                                          "1e3KiB",
                                          "0.0000001TiB"};
  test::fuzz(examples, [](const std::string& text) {
    try {
      const auto specs = parse_tiers(text);
      CHECK(parse_tiers(to_string(specs)) == specs);
    } catch (const ConfigError& e) {
      CHECK(std::string_view{e.what()} != "");
    }
    try {
      const auto policy = parse_policy(text);
      CHECK(parse_policy(to_string(policy)) == policy);
    } catch (const ConfigError& e) {
      CHECK(std::string_view{e.what()} != "");
    }
    try {
      const auto size = parse_bytes(text);
      CHECK(parse_bytes(to_string(size)) == size);
    } catch (const ConfigError& e) {
      CHECK(std::string_view{e.what()} != "");
    }
  });
}

}  // namespace tier::spec_test
