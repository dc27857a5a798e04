// main.go - the workloads on Go: options, repeats, one JSON line a result.
//
// An actor is a goroutine with a buffered channel as its mailbox. GOMAXPROCS is --workers.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"
)

// What one run found; samples are latencies in ns.
type result struct {
	figure  float64
	samples []int64
}

type work struct {
	name, unit, note string
	run              func(divide int) result
}

type line struct {
	Workload string  `json:"workload"`
	Peer     string  `json:"peer"`
	Unit     string  `json:"unit"`
	Median   float64 `json:"median"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Repeats  int     `json:"repeats"`
	Workers  int     `json:"workers"`
	Peak     int64   `json:"peak_bytes"`
	P50      *int64  `json:"p50_ns,omitempty"`
	P99      *int64  `json:"p99_ns,omitempty"`
	P999     *int64  `json:"p999_ns,omitempty"`
	Worst    *int64  `json:"max_ns,omitempty"`
	Note     string  `json:"note"`
}

var works = []work{
	{"W1", "messages/s", "channels of 64", func(d int) result { return pingpong(1, 3000000/d) }},
	{"W2", "messages/s", "channels of 64", func(d int) result { return pingpong(8, 3000000/d) }},
	{"W2k", "messages/s", "channels of 64",
		func(d int) result { return pingpong(1000, 3000000/d) }},
	{"W3a", "hops/s", "channels of 64", func(d int) result { return ring(100, 1, 3000000/d) }},
	{"W3b", "hops/s", "channels of 128", func(d int) result { return ring(1000, 100, 3000000/d) }},
	{"W4", "messages/s", "a channel of 1024: producers wait when it is full",
		func(d int) result { return fanin(4, 1000000/d) }},
	{"W4c", "messages/s", "as W4: a channel of 1024",
		func(d int) result { return fanin(4, 1000000/d) }},
	{"W5", "ns", "", func(d int) result { return skynet(1000000 / d) }},
	{"W6", "actors/s", "", func(d int) result { return churn(1000000 / d) }},
	{"W7", "bytes/actor", "", func(d int) result { return idle(1000000 / d) }},
	{"W8a", "restarts/s", "recover and begin anew on the same channel; no supervisor, no decision",
		func(d int) result { return hot(1000000 / d) }},
	{"W8a-supervised", "restarts/s", "a goroutine is told and starts it again on the same channel",
		func(d int) result { return supervised(500000 / d) }},
	{"W8w", "restarts/s", "returns an error; a goroutine is told, decides, calls the hooks, starts it again",
		func(d int) result { return whole(500000/d, false) }},
	{"W8w-panic", "restarts/s", "panics; a goroutine is told, decides, calls the hooks, starts it again",
		func(d int) result { return whole(500000/d, true) }},
	{"W8b", "ns", "recover and begin anew", func(d int) result { return paced(1000 / d) }},
	{"W8c", "ns", "recover and begin anew; burners yield after each message",
		func(d int) result { return loaded(1000/d, 10000, 2*time.Second/time.Duration(d)) }},
	{"W9a", "ns", "the new parent tells each child to make its state anew",
		func(d int) result { return parentKeeps(1000, 200/d+3) }},
	{"W9b", "ns", "the new parent closes the children's channels and makes new ones",
		func(d int) result { return parentRemakes(1000, 200/d+3) }},
	{"W9c", "ns", "to the parent's next message; as W9a, and burners yield after each message",
		func(d int) result { return familyLoaded(1000, 10000, 5*time.Second/time.Duration(d)) }},
	{"W10", "messages/s", "channels of 128", func(d int) result { return big(64, 24000/d) }},
	{"W11", "burns/s", "burners yield after each message", func(d int) result {
		return fairness(64, 1000, 2*time.Second/time.Duration(atMost(d, 3)))
	}},
	{"W12s", "ns", "from a goroutine, handled by its thread when it yields: no foreign threads",
		func(d int) result { return sendCost(300000 / d) }},
	{"W12r", "ns", "from a goroutine, handled by its thread when it yields: no foreign threads",
		func(d int) result { return sendRunning(10000 / d) }},
	{"W12p", "ns", "from a goroutine locked to its thread, which yields after the send",
		func(d int) result { return sendParked(1000 / d) }},
	{"W18k", "messages/s", "channels of 4",
		func(d int) result { return pingpongOn(500, 4000000/d, 4) }},
	{"W18m", "messages/s", "channels of 4",
		func(d int) result { return pingpongOn(500000/d, 4000000/d, 4) }},
}

func atMost(value, most int) int {
	if value > most {
		return most
	}
	return value
}

var started = time.Now()

func now() int64 { return int64(time.Since(started)) }

func check(got, want int64) {
	if got != want {
		fmt.Fprintf(os.Stderr, "peer go: got %d, not %d\n", got, want)
		os.Exit(1)
	}
}

func status(key string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, row := range strings.Split(string(text), "\n") {
		var kib int64
		if strings.HasPrefix(row, key) {
			fmt.Sscanf(strings.TrimSpace(row[len(key):]), "%d", &kib)
			return kib * 1024
		}
	}
	return 0
}

func once(w work, divide int, peak *int64) result {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	r := w.run(divide)
	if high := status("VmHWM:"); high > *peak {
		*peak = high
	}
	return r
}

// The value that a share of all samples does not exceed, as a median over the runs.
func tail(results []result, share float64) *int64 {
	var values []int64
	for _, r := range results {
		if len(r.samples) == 0 {
			return nil
		}
		sort.Slice(r.samples, func(i, j int) bool { return r.samples[i] < r.samples[j] })
		rank := int(share * float64(len(r.samples)))
		if float64(rank) == share*float64(len(r.samples)) && rank > 0 {
			rank--
		}
		values = append(values, r.samples[rank])
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return &values[len(values)/2]
}

// The workload of "W8a-supervised", which is another way to do W8a.
func wanted(name string) string { return strings.SplitN(name, "-", 2)[0] }

func measure(w work, repeats, divide int) {
	var peak, ignored int64
	if w.name == "W7" {
		repeats = 1 // memory that was once had is not given back at once
	} else {
		once(w, divide, &ignored)
	}
	var results []result
	var figures []float64
	for i := 0; i < repeats; i++ {
		r := once(w, divide, &peak)
		results = append(results, r)
		figures = append(figures, r.figure)
	}
	sort.Float64s(figures)
	shown := wanted(w.name)
	text, _ := json.Marshal(line{shown, "go" + strings.TrimPrefix(w.name, shown), w.unit,
		(figures[repeats/2] + figures[(repeats-1)/2]) / 2, figures[0], figures[repeats-1], repeats,
		runtime.GOMAXPROCS(0), peak, tail(results, 0.5), tail(results, 0.99), tail(results, 0.999),
		tail(results, 1), w.note})
	fmt.Println(string(text))
}

func main() {
	workers := flag.Int("workers", runtime.NumCPU(), "GOMAXPROCS")
	repeats := flag.Int("repeats", 5, "runs a workload, after one to warm up")
	only := flag.String("only", "", "names of workloads, comma between")
	divide := flag.Int("divide", 1, "divide the sizes by this")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	for _, w := range works {
		if *only == "" || strings.Contains(","+*only+",", ","+wanted(w.name)+",") {
			measure(w, *repeats, *divide)
		}
	}
}
