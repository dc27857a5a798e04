// messages.go - W1 to W4 and W10: goroutines that exist already and only talk.
package main

func rate(count int, begin int64) result {
	return result{figure: float64(count) * 1e9 / float64(now()-begin)}
}

// ---- W1, W2, W2k, W18

func pingpong(pairs, messages int) result { return pingpongOn(pairs, messages, 64) }

func pingpongOn(pairs, messages, room int) result {
	rounds := messages / pairs / 2
	done := make(chan int64, pairs)
	pings := make([]chan int64, pairs)
	for i := range pings {
		ping, pong := make(chan int64, room), make(chan int64, room)
		pings[i] = ping
		go func() {
			for ball := range pong {
				ping <- ball
			}
		}()
		go func() {
			<-ping
			got := int64(0)
			for left := int64(rounds); left > 0; left-- {
				pong <- left
				if <-ping == left {
					got++
				}
			}
			close(pong)
			done <- got
		}()
	}
	begin := now()
	for _, ping := range pings {
		ping <- 0
	}
	balls := int64(0)
	for range pings {
		balls += <-done
	}
	r := rate(2*int(balls), begin)
	check(balls, int64(rounds*pairs))
	return r
}

// ---- W3

func ring(actors, tokens, hops int) result {
	nodes := make([]chan int64, actors)
	for i := range nodes {
		nodes[i] = make(chan int64, 28+tokens)
	}
	done, counts := make(chan bool, tokens), make(chan int64, actors)
	for i := range nodes {
		go func(mailbox, next chan int64) {
			count := int64(0)
			for left := range mailbox {
				if left == 0 {
					break
				}
				count++
				if left == 1 {
					done <- true
				} else {
					next <- left - 1
				}
			}
			counts <- count
		}(nodes[i], nodes[(i+1)%actors])
	}
	each := hops / tokens
	begin := now()
	for i := 0; i < tokens; i++ {
		nodes[i*actors/tokens] <- int64(each)
	}
	for i := 0; i < tokens; i++ {
		<-done
	}
	r := rate(each*tokens, begin)
	sum := int64(0)
	for _, node := range nodes {
		node <- 0
		sum += <-counts
	}
	check(sum, int64(each*tokens))
	return r
}

// ---- W4

func fanin(producers, messages int) result {
	mailbox, done := make(chan int64, 1024), make(chan int64)
	go func() {
		sum := int64(0)
		for left := producers * messages; left > 0; left-- {
			sum += <-mailbox
		}
		done <- sum
	}()
	begin := now()
	for i := 1; i <= producers; i++ {
		go func(item int64) {
			for left := messages; left > 0; left-- {
				mailbox <- item
			}
		}(int64(i))
	}
	sum := <-done
	r := rate(producers*messages, begin)
	check(sum, int64(messages*producers*(producers+1)/2))
	return r
}

// ---- W10

type ball struct {
	from chan ball // nil: a pong
	stop bool
}

// An actor has at most one ping under way, so a mailbox never holds more than all of them.
func big(actors, pings int) result {
	all := make([]chan ball, actors)
	for i := range all {
		all[i] = make(chan ball, 2*actors)
	}
	done, served := make(chan bool, actors), make(chan int64, actors)
	for i := range all {
		go bigActor(all, i, pings, done, served)
	}
	begin := now()
	for i := range all {
		all[i] <- ball{}
	}
	for range all {
		<-done
	}
	r := rate(2*actors*pings, begin)
	sum := int64(0)
	for _, mailbox := range all {
		mailbox <- ball{stop: true}
		sum += <-served
	}
	check(sum, int64(actors*pings))
	return r
}

func bigActor(all []chan ball, index, pings int, done chan bool, served chan int64) {
	mailbox, seed, count := all[index], uint32(index+1)*7919, int64(0)
	for message := range mailbox {
		switch {
		case message.stop:
			served <- count
			return
		case message.from != nil:
			count++
			message.from <- ball{}
		case pings == 0:
			done <- true
		default:
			pings--
			seed = seed*1103515245 + 12345
			other := (index + 1 + int(seed>>8)%(len(all)-1)) % len(all)
			all[other] <- ball{from: mailbox}
		}
	}
}
