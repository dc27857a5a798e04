// restart.go - W8 and W9: a panic, its recovery, and the next message.
//
// Go has no supervisor. The victim's deferred function recovers and the loop around it begins anew,
// with a new state on the same channel, so that the mailbox survives as it does in axo.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	fail = iota
	next
	stop
)

type victim struct {
	mailbox chan int
	failed  int64
	count   int
	samples []int64 // the victim's alone until handled says how many there are
	handled int64
	hot     bool
	done    chan bool
	reports chan failure // to the supervisor; nil: there is none
}

type failure struct {
	who    *victim
	reason interface{}
}

func newVictim(count int, hot bool) *victim {
	return &victim{mailbox: make(chan int, 16), count: count, samples: make([]int64, 0, count),
		hot: hot, done: make(chan bool, 1)}
}

func (v *victim) run() {
	for !v.instance() && v.reports == nil {
	}
}

// One instance; false: it failed.
func (v *victim) instance() (over bool) {
	defer func() {
		if reason := recover(); reason != nil && v.reports != nil {
			v.reports <- failure{v, reason}
		}
	}()
	state := new(int64) // new with each instance
	for message := range v.mailbox {
		*state++
		switch message {
		case fail:
			v.failed = now()
			panic("as told")
		case next:
			if v.take(now()) {
				return true
			}
		case stop:
			v.done <- true
			return true
		}
	}
	return true
}

// Takes a sample; true if it was the last.
func (v *victim) take(at int64) bool {
	v.samples = append(v.samples, at-v.failed)
	atomic.AddInt64(&v.handled, 1)
	if len(v.samples) == v.count {
		v.done <- true
		return true
	}
	if v.hot {
		v.tell()
	}
	return false
}

func (v *victim) tell() {
	v.mailbox <- fail
	v.mailbox <- next
}

func median(samples []int64) result {
	r := []result{{samples: samples}}
	return result{figure: float64(*tail(r, 0.5)), samples: samples}
}

// ---- W8

func hot(count int) result { return backToBack(newVictim(count, true), count) }

// A goroutine is told of each failure and starts the victim again, as packages for that do.
func supervised(count int) result {
	v := newVictim(count, true)
	v.reports = make(chan failure)
	go func() {
		for failed := range v.reports {
			go failed.who.run()
		}
	}()
	r := backToBack(v, count)
	close(v.reports)
	return r
}

func backToBack(v *victim, count int) result {
	begin := now()
	go v.run()
	v.tell()
	<-v.done
	r := rate(count, begin)
	check(int64(len(v.samples)), int64(count))
	r.samples = v.samples
	return r
}

// Tells the victim once a millisecond to fail, and only when its last restart is over; until the
// end, and a few times at least.
func (v *victim) pace(end int64) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for told := int64(0); told < int64(v.count) && (now() < end || told < 5); {
		<-ticker.C
		if atomic.LoadInt64(&v.handled) == told {
			v.tell()
			told++
		}
	}
}

func paced(count int) result {
	v := newVictim(count, false)
	go v.run()
	v.pace(1 << 62)
	<-v.done
	check(int64(len(v.samples)), int64(count))
	return median(v.samples)
}

// Goroutines that are always ready, until the function that is returned has been called.
func load(burners int) func() {
	quit, loops := new(int32), burnLoops(1000)
	running := new(sync.WaitGroup)
	for i := 0; i < burners; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			mailbox := make(chan bool, 1)
			mailbox <- true
			for atomic.LoadInt32(quit) == 0 {
				<-mailbox
				burn(loops)
				mailbox <- true
				runtime.Gosched()
			}
		}()
	}
	return func() {
		atomic.StoreInt32(quit, 1)
		running.Wait()
	}
}

func loaded(count, burners int, length time.Duration) result {
	v := newVictim(count, false)
	end := load(burners)
	go v.run()
	v.pace(now() + int64(length))
	if len(v.done) == 0 {
		v.mailbox <- stop
	}
	<-v.done
	end()
	return median(v.samples)
}

// ---- W9

type family struct {
	mailbox  chan int
	children []chan int
	ready    int64 // children of the present generation that are
	total    int64
	failed   int64
	samples  []int64 // to the parent's next message; the parent's alone until it has stopped
	done     chan int64
	over     chan bool
}

func (f *family) child(mailbox chan int) {
	state := new(int64)
	f.isReady()
	for range mailbox {
		state = new(int64) // told to begin anew
		f.isReady()
	}
	*state++
}

func (f *family) isReady() {
	atomic.AddInt64(&f.total, 1)
	if atomic.AddInt64(&f.ready, 1) == int64(len(f.children)) {
		f.done <- now() - atomic.LoadInt64(&f.failed)
	}
}

func (f *family) make() {
	for i := range f.children {
		f.children[i] = make(chan int, 4)
		go f.child(f.children[i])
	}
}

func (f *family) parent(survive bool) {
	defer func() {
		if reason := recover(); reason != nil {
			go f.restarted(survive)
		}
	}()
	for order := range f.mailbox {
		switch order {
		case fail:
			atomic.StoreInt64(&f.failed, now())
			atomic.StoreInt64(&f.ready, 0)
			panic("as told")
		case next:
			f.samples = append(f.samples, now()-f.failed)
		case stop:
			f.over <- true
			return
		}
	}
}

func (f *family) restarted(survive bool) {
	for _, child := range f.children {
		if survive {
			child <- next
		} else {
			close(child)
		}
	}
	if !survive {
		f.make()
	}
	f.parent(survive)
}

func newFamily(children int, survive bool) *family {
	f := &family{mailbox: make(chan int, 4), children: make([]chan int, children),
		done: make(chan int64, 1), over: make(chan bool, 1)}
	f.make()
	<-f.done
	go f.parent(survive)
	return f
}

func familyLoaded(children, burners int, length time.Duration) result {
	f := newFamily(children, true)
	quit := load(burners)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	told := 0
	for end := now() + int64(length); now() < end || told < 5; told++ {
		<-ticker.C
		f.mailbox <- fail
		f.mailbox <- next
		<-f.done // until all of it is over
	}
	f.mailbox <- stop
	<-f.over
	quit()
	check(f.total, int64(children*(told+1)))
	check(int64(len(f.samples)), int64(told))
	return median(f.samples)
}

func generations(children, rounds int, survive bool) result {
	f := newFamily(children, survive)
	var samples []int64
	for i := 0; i < rounds; i++ {
		f.mailbox <- fail
		samples = append(samples, <-f.done)
	}
	f.mailbox <- stop
	<-f.over
	check(f.total, int64(children*(rounds+1)))
	return median(samples)
}

func parentKeeps(children, rounds int) result   { return generations(children, rounds, true) }
func parentRemakes(children, rounds int) result { return generations(children, rounds, false) }
