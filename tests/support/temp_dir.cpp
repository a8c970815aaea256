#include "support/temp_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace redlock::test {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "rr-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name + " failed");
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a destructor has nobody to tell
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::write(const std::string& name, const std::string& content, int mode) const {
  const std::string path = file(name);
  std::ofstream(path, std::ios::binary) << content;
  if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) {
    throw std::runtime_error("chmod " + path + " failed");
  }
  return path;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

void touch(const std::string& path) {
  std::ofstream(path, std::ios::app).flush();
}

std::string read_file(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace redlock::test
