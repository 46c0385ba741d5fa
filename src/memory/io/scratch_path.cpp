// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/scratch_path.hpp"

#include <tier/core/error.hpp>
#include <tier/core/spec_text.hpp>

#include <filesystem>
#include <system_error>

namespace tier {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::errc code, const std::string& what) {
  throw TierError{std::make_error_code(code), what};
}

std::string nearest_folder(fs::path path) {
  std::error_code error;
  while (path.has_relative_path() && !fs::is_directory(path, error)) path = path.parent_path();
  return path.empty() ? "." : path.string();
}

/// Returns `, or write file:new=PATH:SIZE for WHAT`, for kinds that can make a file.
std::string or_new_file(const std::string& tier, const std::string& path, const char* what) {
  return tier == "memkind" ? "" : ", or write " + tier + ":new=" + path + ":SIZE for " + what;
}

}  // namespace

void expect_folder(const std::string& path, const std::string& tier) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::is_directory(status)) return;
  if (fs::exists(status))
    fail(std::errc::not_a_directory,
         "tier " + tier + " needs a folder, but \"" + path +
             "\" is not one, and libtier never uses a file that exists: name a folder" +
             or_new_file(tier, "PATH", "a new file"));
  if (status.type() != fs::file_type::not_found)
    throw TierError{error, "stat of \"" + path + "\" for tier " + tier};
  fail(std::errc::no_such_file_or_directory,
       "tier " + tier + " needs a folder that exists, but \"" + path + "\" does not (\"" +
           nearest_folder(path) + "\" does): make or mount the folder" +
           (tier == "pmem" ? ", name a DAX device" : "") +
           or_new_file(tier, detail::escaped(path, ":;"), "a new file of that name"));
}

void expect_folder_of(const std::string& path, const std::string& tier) {
  const auto folder = fs::path{path}.parent_path();
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error))
    fail(std::errc::no_such_file_or_directory,
         "tier " + tier + " cannot make \"" + path + "\": the folder \"" + folder.string() +
             "\" does not exist (\"" + nearest_folder(folder) + "\" does): make or mount it");
}

}  // namespace tier
