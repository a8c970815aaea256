// A directory of one test, and small files in it.
#pragma once

#include <string>

namespace redlock::test {

/// Removed with everything in it when it goes out of scope.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  /// The path of `name` in here, whether or not it exists.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file with these permissions; returns its path.
  std::string write(const std::string& name, const std::string& content, int mode = 0644) const;

 private:
  std::string path_;
};

bool exists(const std::string& path);
/// Creates an empty file, the sign a waiting process looks for.
void touch(const std::string& path);
/// The whole file; empty when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace redlock::test
