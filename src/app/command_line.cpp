#include "app/command_line.h"

#include <cstddef>

namespace redlock::app {
namespace {

class Splitter {
 public:
  Splitter(const std::vector<std::string>& args,
           const std::function<OptionKind(const std::string&)>& kind_of)
      : args_(args), kind_of_(kind_of) {}

  CommandLine split() {
    while (next_ < args_.size()) {
      const std::string& arg = args_[next_++];
      if (arg == "--") {
        take_name();
      } else if (arg.starts_with("--")) {
        take_long(arg);
      } else if (arg.size() > 1 && arg.front() == '-') {
        take_short(arg);
      } else {
        --next_;
        take_name();
      }
    }
    return std::move(line_);
  }

 private:
  void take_name() {
    if (next_ < args_.size()) line_.name = args_[next_++];
    line_.rest.assign(args_.begin() + static_cast<std::ptrdiff_t>(next_), args_.end());
    next_ = args_.size();
  }

  void take_long(const std::string& arg) {
    const std::size_t equals = arg.find('=');
    if (equals == std::string::npos) {
      line_.options.push_back(arg);
      if (kind_of_(arg) == OptionKind::takes_value) take_following_value();
      return;
    }
    const std::string option = arg.substr(0, equals);
    const bool takes_value = kind_of_(option) == OptionKind::takes_value;
    line_.options.push_back(takes_value ? option : arg);
    if (takes_value) add_value(arg.substr(equals + 1));
  }

  /// `-nq`, `-rURL`, `-nr URL`.
  void take_short(const std::string& arg) {
    for (std::size_t at = 1; at < arg.size(); ++at) {
      const std::string option{'-', arg[at]};
      line_.options.push_back(option);
      if (kind_of_(option) != OptionKind::takes_value) continue;
      if (at + 1 < arg.size()) {
        add_value(arg.substr(at + 1));
      } else {
        take_following_value();
      }
      return;
    }
  }

  void take_following_value() {
    if (next_ < args_.size()) add_value(args_[next_++]);
  }

  void add_value(std::string value) {
    line_.options.push_back(std::to_string(line_.values.size()));
    line_.values.push_back(std::move(value));
  }

  const std::vector<std::string>& args_;
  const std::function<OptionKind(const std::string&)>& kind_of_;
  std::size_t next_ = 0;
  CommandLine line_;
};

}  // namespace

CommandLine split_command_line(const std::vector<std::string>& args,
                               const std::function<OptionKind(const std::string&)>& kind_of) {
  return Splitter(args, kind_of).split();
}

}  // namespace redlock::app
