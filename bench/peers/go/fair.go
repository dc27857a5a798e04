// fair.go - W11: pings beside goroutines that compute; W12: messages from a thread of its own.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var burned uint64 // keeps the loop

func burn(loops int) {
	x := uint64(loops)
	for i := 0; i < loops; i++ {
		x = x*6364136223846793005 + 1
	}
	if x == 1 {
		atomic.AddUint64(&burned, x)
	}
}

// How many turns of the loop take as long as told.
func burnLoops(ns int) int {
	const trial = 200000
	best := int64(1 << 62)
	for i := 0; i < 30; i++ {
		begin := now()
		burn(trial)
		if took := now() - begin; took < best {
			best = took
		}
	}
	return int(int64(ns)*trial/best) + 1
}

// ---- W11

const pingPeriod = 500 * time.Microsecond

type ping struct{ sent int64 }

func fairness(burners, lights int, length time.Duration) result {
	var quit int32
	var burns int64
	var running sync.WaitGroup
	loops := burnLoops(50000)
	for i := 0; i < burners; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			mailbox := make(chan bool, 1)
			mailbox <- true
			for atomic.LoadInt32(&quit) == 0 {
				<-mailbox
				burn(loops)
				atomic.AddInt64(&burns, 1)
				mailbox <- true
				runtime.Gosched()
			}
		}()
	}
	mailboxes, answers := make([]chan ping, lights), make(chan ping, lights)
	for i := range mailboxes {
		mailboxes[i] = make(chan ping, 64)
		go func(mailbox chan ping) {
			for message := range mailbox {
				answers <- message
			}
		}(mailboxes[i])
	}
	time.Sleep(100 * time.Millisecond)
	before, begin := atomic.LoadInt64(&burns), now()
	samples := pinger(mailboxes, answers, length)
	r := rate(int(atomic.LoadInt64(&burns)-before), begin)
	r.samples = samples
	atomic.StoreInt32(&quit, 1)
	running.Wait()
	for _, mailbox := range mailboxes {
		close(mailbox)
	}
	return r
}

// Pings at a rate, whether the pings before have been answered or not. A ticker drops what it
// cannot deliver, so late ticks are made up for.
func pinger(mailboxes []chan ping, answers chan ping, length time.Duration) []int64 {
	var samples []int64
	ticker := time.NewTicker(pingPeriod)
	defer ticker.Stop()
	begin, pings := now(), 0
	for now()-begin < int64(length) || len(samples) < pings {
		select {
		case <-ticker.C:
			due := int(minimum(now()-begin, int64(length)) / int64(pingPeriod))
			for ; pings < due; pings++ {
				mailboxes[pings%len(mailboxes)] <- ping{now()}
			}
		case answer := <-answers:
			samples = append(samples, now()-answer.sent)
		}
	}
	return samples
}

func minimum(one, other int64) int64 {
	if one < other {
		return one
	}
	return other
}

// ---- W12: Go has no foreign threads, so the sender is a goroutine with a processor of its own.

const (
	burst = 1000
	gapNs = 5000
)

// Runs beside a goroutine a worker that sends to itself without end.
func busily(run func() result) result {
	var quit int32
	var running sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(workers + 1)
	for i := 0; i < workers; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			mailbox := make(chan bool, 1)
			mailbox <- true
			for atomic.LoadInt32(&quit) == 0 {
				mailbox <- <-mailbox
				runtime.Gosched()
			}
		}()
	}
	r := run()
	atomic.StoreInt32(&quit, 1)
	running.Wait()
	runtime.GOMAXPROCS(workers)
	return r
}

func await(handled *int64, sent int64) {
	for atomic.LoadInt64(handled) < sent {
		runtime.Gosched()
	}
}

func sendCost(count int) result {
	return busily(func() result {
		mailbox, sum, handled := make(chan int64, burst), make(chan int64, 1), int64(0)
		go func() {
			total := int64(0)
			for number := range mailbox {
				total += number
				atomic.AddInt64(&handled, 1)
			}
			sum <- total
		}()
		took := int64(0)
		for sent := int64(0); sent < int64(count); await(&handled, sent) {
			begin := now()
			for i := 0; i < burst && sent < int64(count); i++ {
				mailbox <- sent
				sent++
			}
			took += now() - begin
		}
		close(mailbox)
		check(<-sum, int64(count)*int64(count-1)/2)
		return result{figure: float64(took) / float64(count)}
	})
}

func sendRunning(count int) result {
	return busily(func() result {
		return sendTimed(count, func() {
			for due := now() + gapNs; now() < due; {
			}
		})
	})
}

// The sender sleeps in the kernel, so that no goroutine is ready and every thread of Go's parks.
func sendParked(count int) result {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return sendTimed(count, func() {
		pause := syscall.Timespec{Nsec: 1000000}
		_ = syscall.Nanosleep(&pause, nil) // a shorter pause is as good
	})
}

func sendTimed(count int, pause func()) result {
	mailbox, handled := make(chan int64, 64), int64(0)
	samples := make([]int64, 0, count)
	done := make(chan bool)
	go func() {
		for sent := range mailbox {
			samples = append(samples, now()-sent)
			atomic.AddInt64(&handled, 1)
		}
		done <- true
	}()
	for i := 0; i < count; i++ {
		pause()
		mailbox <- now()
		await(&handled, int64(i+1))
	}
	close(mailbox)
	<-done
	check(int64(len(samples)), int64(count))
	return median(samples)
}
