// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/page.hpp"

#include <tier/trace/text.hpp>

#include <doctest/doctest.h>

#include <sstream>

#include "recording.hpp"
#include "report/format.hpp"

namespace tier::page_test {

using namespace tier::tool::report;

namespace {

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::string page_of(const std::string& text) {
  std::istringstream in{text};
  return to_html(analyse(trace::read_text(in)), "a trace");
}

}  // namespace

TEST_CASE("no text of a trace becomes a part of the page's own language") {
  const auto t = test::Recording{{.seed = 3, .layers = 16, .iterations = 2, .hostile = true}}.make();
  const auto page = to_html(analyse(t), "</title><script>document.title='hacked'</script>");
  CHECK(count(page, "<script") == 2);  // the data and the script
  CHECK(count(page, "</script") == 2);
  CHECK(count(page, "</title") == 1);
  CHECK(count(page, "<style") == 1);
  CHECK(count(page, "</style") == 1);
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "<!--") == 0);
  CHECK(count(page, "'onload='") == 0);
  CHECK(count(page, "&lt;img/src=x/onerror=document.title=&#39;hacked&#39;&gt;") > 0);  // it is shown
  CHECK(count(page, std::string(150, 'w')) == 0);                                       // names are shortened
}

TEST_CASE("bytes that are no UTF-8 become characters that say so, and others stay") {
  CHECK(escape("a < \xf6 & \"\xc3\xb6\"") == "a &lt; \xef\xbf\xbd &amp; &quot;\xc3\xb6&quot;");
  CHECK(escape("\xe2\x98") == "\xef\xbf\xbd");
  CHECK(escape("\xe2\x98\x83\n\t\x01") == "\xe2\x98\x83\n\t\x01");
  CHECK(escape("") == "");
}

TEST_CASE("names are cut between characters") {
  CHECK(shorten("abc", 3) == "abc");
  CHECK(shorten("abcd", 3) == "abc…");
  CHECK(shorten("aö☃", 2) == "a…");
  CHECK(shorten("aö☃", 3) == "aö…");
  CHECK(shorten("\xE2\x98\x83", 1) == "…");
}

TEST_CASE("numbers read as people write them") {
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1000) == "1,000");
  CHECK(human_count(12345678) == "12,345,678");
  CHECK(human_time(0) == "0 ns");
  CHECK(human_time(1500) == "1.5 µs");
  CHECK(human_time(2.5e9) == "2.5 s");
  CHECK(human_time(12345e9) == "12345 s");
  CHECK(human_rate(19e9) == "19 GB/s");
  CHECK(human_scaled(9.2e12) == "9.2 T");
  CHECK(human_scaled(12) == "12");
  CHECK(human_share(1, 3) == "33 %");
  CHECK(human_share(1, 0) == "–");
  CHECK(human_number(0.01234, 3) == "0.0123");
  CHECK(counted(1, "kernel") == "1 kernel");
  CHECK(counted(2000, "kernel") == "2,000 kernels");
}

TEST_CASE("a page says what its trace does not have, and how to get it") {
  const std::string plain = "H tmtrace=1\nT 0 10 p x\nK a f 0 R 0 W - U -\n";
  CHECK(count(page_of(plain), "TIER_TRACE=FILE") == 1);
  CHECK(count(page_of(plain), "Bytes alive") == 1);
  CHECK(count(page_of(plain), "Each step of the charts is one kernel") == 1);
  CHECK(count(page_of(plain), "What was in each tier") == 0);
  const auto timed = page_of(plain + "k 1 10 10 0 dram\nK b f 0 R 0 W - U -\n");
  CHECK(count(timed, "1 kernel of 2 have no time") == 1);
  CHECK(count(timed, "Nothing moved") == 2);  // the note, and the first answer
  CHECK(count(timed, "<code>c tiers=</code>") == 1);
  CHECK(count(page_of("H tmtrace=1\nc tiers=nonsense\nT 0 10 p x\nm 1 0 dram file 1 evict 3 4\n"),
              "<code>c tiers=</code>") == 1);
  const auto known = page_of(
      "H tmtrace=1 unfinished=1 lost=17\nc tiers=dram:1MiB\nT 0 10 p x\nK a f 0 R 0 W - U -\nk 1 10 10 0 "
      "dram\n");
  CHECK(count(known, "<code>c tiers=</code>") == 0);
  CHECK(count(known, "was cut off") == 1);
  CHECK(count(known, "lacks 17 events") == 1);
  // One step of the axis is far below the resolution of a double there.
  CHECK(page_of("H tmtrace=1\nT 0 10 p x\nm 1 0 dram file 1 evict 9000000000000000000 7\n").size() < 100'000);
  CHECK(page_of("H tmtrace=1\n").ends_with("</html>\n"));  // nothing at all
}

TEST_CASE("a page is small however many events it is of") {
  trace::Trace t;
  const auto x = t.declare(0, {1000}, trace::TensorKind::Parameter, "x");
  const auto fast = t.add_name("dram"), slow = t.add_name("file"), placement = t.add_name("dram");
  const std::vector<trace::Operand> operands{{{1000}, x, trace::Role::Reads}};
  for (std::int64_t i = 0; i < 100'000; ++i) {
    t.add({.sequence = static_cast<std::uint64_t>(i),
           .tensor = x,
           .from = i % 2 == 0 ? slow : fast,
           .to = i % 2 == 0 ? fast : slow,
           .size = {1000},
           .cause = static_cast<trace::Cause>(i * 7919 % 6),
           .start = std::chrono::nanoseconds{i * 1000},
           .duration = std::chrono::nanoseconds{i * 7919 % 900}});
    t.add_kernel("k" + std::to_string(i % 5000), trace::Phase::Forward, 0, operands);
    t.add({.sequence = 0,
           .start = std::chrono::nanoseconds{i * 1000 + 900},
           .duration = std::chrono::nanoseconds{50},
           .placement = placement});
  }
  const auto page = to_html(analyse(t), "large");
  CHECK(page.size() < 3'000'000);
  CHECK(count(page, "zooming in shows up to") == 1);
}

}  // namespace tier::page_test
