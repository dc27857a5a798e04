/* hello.cpp - actors as classes of C++: messages by type, an exception that is a failure, an answer
 * by type. README quotes it; hello.expected is what it prints. */
#include <axo/axo.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

struct greeting { /* a payload that is moved */
    static constexpr std::uint32_t tag = 1;
    std::string name;
};
struct greeted {
    static constexpr std::uint32_t tag = 2;
    int count;
};
struct how_many {
    static constexpr std::uint32_t tag = 3;
    using answer = greeted;
};

class greeter {
  public:
    using messages = axo::messages<greeting, how_many>;
    ~greeter() { std::printf("greeter: gone after %d\n", count_); }
    void on(const greeting &who)
    {
        if (who.name.empty())
            throw std::invalid_argument("nobody to greet"); /* the default strategy restarts it */
        std::printf("greeter: hello, %s!\n", who.name.c_str());
        count_++;
    }
    greeted on(const how_many &) { return {count_}; }

  private:
    int count_ = 0;
};

int main()
{
    axo::system system; /* stopped and destroyed at the end of its scope */
    const axo::ref<greeter> ref = system.spawn<greeter>("greeter");
    for (const char *name : {"Ada", "Bob", "", "Cleo"})
        system.send(ref, greeting{name});
    const auto answer = system.ask(ref, how_many{}, 10s);
    std::printf("main: %d greeted since the restart\n", answer ? answer->count : -1);
    return answer ? 0 : 1;
}
