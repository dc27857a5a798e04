// actors.go - W5 to W7: goroutines come, go, and do nothing.
package main

import (
	"sync/atomic"
	"time"
)

// ---- W5

func skynet(leaves int) result {
	size := 1
	for size*10 <= leaves {
		size *= 10
	}
	sum := make(chan int64, 1)
	begin := now()
	go skynetNode(sum, 0, int64(size))
	got := <-sum
	took := now() - begin
	check(got, int64(size)*int64(size-1)/2)
	return result{figure: float64(took)}
}

func skynetNode(parent chan int64, number, size int64) {
	if size == 1 {
		parent <- number
		return
	}
	mailbox, part, sum := make(chan int64, 10), size/10, int64(0)
	for i := int64(0); i < 10; i++ {
		go skynetNode(mailbox, number+i*part, part)
	}
	for i := 0; i < 10; i++ {
		sum += <-mailbox
	}
	parent <- sum
}

// ---- W6

func churn(actors int) result {
	var sum int64
	want := int64(actors) * int64(actors+1) / 2
	done := make(chan bool)
	begin := now()
	for i := 1; i <= actors; i++ {
		mailbox := make(chan int64, 1)
		go func() {
			if atomic.AddInt64(&sum, <-mailbox) == want {
				done <- true
			}
		}()
		mailbox <- int64(i)
	}
	<-done
	r := rate(actors, begin)
	check(sum, want)
	return r
}

// ---- W7

func idle(actors int) result {
	before := status("VmRSS:")
	var ready int64
	all, sum := make([]chan chan int64, actors), make(chan int64, 64)
	for i := range all {
		mailbox := make(chan chan int64, 1)
		all[i] = mailbox
		go func(state int64) {
			atomic.AddInt64(&ready, 1)
			for judge := range mailbox {
				judge <- state
				return
			}
		}(int64(i + 1))
	}
	for atomic.LoadInt64(&ready) != int64(actors) {
		time.Sleep(10 * time.Millisecond)
	}
	bytes := status("VmRSS:") - before - int64(8*actors) // without the list of them all
	total := int64(0)
	for _, mailbox := range all {
		mailbox <- sum
		total += <-sum
	}
	check(total, int64(actors)*int64(actors+1)/2)
	return result{figure: float64(bytes) / float64(actors)}
}
