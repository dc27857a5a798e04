// whole.go - W8w: a restart with a text, a decider, hooks, and memory of the instance.
//
// A goroutine stands for the supervisor. It is told of each failure, decides, calls the old instance's
// hooks, and starts the next one on the same channel, as Go's packages for that do.
package main

const (
	onRequest   = "on request"
	failureCode = 7
	memorySize  = 256
)

type cause struct {
	code int
	text string
}

func (c *cause) Error() string { return c.text }

type directive int

const (
	restart directive = iota
	giveUp
)

func decide(why *cause) directive {
	if why.code == failureCode && why.text == onRequest {
		return restart
	}
	return giveUp
}

// What has hooks; whoever supervises knows no more of it.
type hooked interface {
	preStart()
	preRestart(why *cause)
	postRestart(why *cause)
	postStop()
	receive(message int) *cause
}

type instance struct {
	place    *place
	memory   []byte
	messages int
}

// What outlives an instance.
type place struct {
	mailbox chan int
	byPanic bool
	failed  int64
	count   int
	hooks   int
	samples []int64
	done    chan bool
	reports chan report
}

type report struct {
	old hooked
	why *cause
}

func (p *place) construct() hooked {
	memory := make([]byte, memorySize)
	for i := range memory {
		memory[i] = 1
	}
	return &instance{place: p, memory: memory}
}

func (i *instance) hook() {
	i.memory[0]++
	i.place.hooks++
}

func (i *instance) preStart() { i.hook() }
func (i *instance) postStop() { i.hook() }
func (i *instance) preRestart(why *cause) {
	check(int64(why.code), failureCode)
	i.hook()
	i.postStop()
}
func (i *instance) postRestart(why *cause) {
	check(int64(why.code), failureCode)
	i.hook()
	i.preStart()
}

func (i *instance) receive(message int) *cause {
	p := i.place
	i.messages++
	if message == fail {
		p.failed = now()
		why := &cause{failureCode, onRequest}
		if p.byPanic {
			panic(why)
		}
		return why
	}
	p.samples = append(p.samples, now()-p.failed)
	if len(p.samples) < p.count {
		p.mailbox <- fail
		p.mailbox <- next
	} else {
		p.done <- true
	}
	return nil
}

// One instance's life.
func (p *place) run(why *cause) {
	one := p.construct()
	defer func() {
		if reason := recover(); reason != nil {
			p.reports <- report{one, reason.(*cause)}
		}
	}()
	if why == nil {
		one.preStart()
	} else {
		one.postRestart(why)
	}
	for message := range p.mailbox {
		if why := one.receive(message); why != nil {
			p.reports <- report{one, why}
			return
		}
	}
}

func (p *place) supervise() {
	for failed := range p.reports {
		if decide(failed.why) == restart {
			failed.old.preRestart(failed.why)
			go p.run(failed.why)
		}
	}
}

func whole(count int, byPanic bool) result {
	p := &place{mailbox: make(chan int, 16), byPanic: byPanic, count: count,
		samples: make([]int64, 0, count), done: make(chan bool), reports: make(chan report)}
	begin := now()
	go p.supervise()
	go p.run(nil)
	p.mailbox <- fail
	p.mailbox <- next
	<-p.done
	r := rate(count, begin)
	close(p.reports)
	close(p.mailbox)
	check(int64(len(p.samples)), int64(count))
	check(int64(p.hooks), int64(4*count+1))
	r.samples = p.samples
	return r
}
