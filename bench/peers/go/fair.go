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
			}
		}()
	}
	mailboxes, answers := make([]chan int64, lights), make(chan int64, 1)
	for i := range mailboxes {
		mailboxes[i] = make(chan int64, 1)
		go func(mailbox chan int64) {
			for number := range mailbox {
				answers <- number
			}
		}(mailboxes[i])
	}
	time.Sleep(100 * time.Millisecond)
	var samples []int64
	before, begin := atomic.LoadInt64(&burns), now()
	for number := int64(0); now()-begin < int64(length); number++ {
		sent := now()
		mailboxes[int(number)%lights] <- number
		check(<-answers, number)
		samples = append(samples, now()-sent)
	}
	r := rate(int(atomic.LoadInt64(&burns)-before), begin)
	r.samples = samples
	atomic.StoreInt32(&quit, 1)
	running.Wait()
	for _, mailbox := range mailboxes {
		close(mailbox)
	}
	return r
}

// ---- W12

func sendCost(count int) result {
	mailbox, took, sum := make(chan int64, count), make(chan int64, 1), int64(0)
	go func() {
		runtime.LockOSThread()
		begin := now()
		for i := int64(0); i < int64(count); i++ {
			mailbox <- i
		}
		took <- now() - begin
		close(mailbox)
	}()
	for number := range mailbox {
		sum += number
	}
	check(sum, int64(count)*int64(count-1)/2)
	return result{figure: float64(<-took) / float64(count)}
}

// The next message is sent as soon as the last is handled.
func sendRunning(count int) result {
	var handled int64
	return sendTimed(count, &handled, func(sent int64) {
		for atomic.LoadInt64(&handled) != sent {
		}
	})
}

func sendParked(count int) result {
	var handled int64
	return sendTimed(count, &handled, func(int64) {
		pause := syscall.Timespec{Nsec: 1000000}
		_ = syscall.Nanosleep(&pause, nil) // a shorter pause is as good
	})
}

func sendTimed(count int, handled *int64, wait func(sent int64)) result {
	mailbox := make(chan int64, 64)
	go func() {
		runtime.LockOSThread()
		for i := 0; i < count; i++ {
			wait(int64(i))
			mailbox <- now()
		}
		close(mailbox)
	}()
	samples := make([]int64, 0, count)
	for sent := range mailbox {
		samples = append(samples, now()-sent)
		atomic.StoreInt64(handled, int64(len(samples)))
	}
	check(int64(len(samples)), int64(count))
	return median(samples)
}
