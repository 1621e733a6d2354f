package outages

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/proxytest"
)

const (
	pause    = 20 * time.Millisecond // between two requests
	patience = 2 * time.Second       // of a client
	before   = time.Second
	gone     = 3 * time.Second
	calm     = 5 * time.Second  // time without a failure that ends a turn
	most     = 40 * time.Second // maximum time of a turn after the outage
)

// request is one of the requests sent during a turn.
type request struct {
	sent, done time.Time
	ok         bool
}

// result is the effect of an outage, counted from its end.
type result struct {
	first  time.Duration // time of the first 200 response
	last   time.Duration // send time of the last failed request; 0 without one
	failed int           // failures of requests sent after the end
	during int           // failures of requests sent during the outage
}

// stream sends requests until ctx ends, and passes each completed one to done.
func (n *network) stream(ctx context.Context, done func(request)) {
	client := n.Client.Client()
	client.Timeout = patience
	var under sync.WaitGroup
	defer under.Wait()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		under.Go(func() {
			r := request{sent: time.Now()}
			if res, err := client.Get("http://" + front + "/"); err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				r.ok = err == nil && res.StatusCode == http.StatusOK
			}
			r.done = time.Now()
			done(r)
		})
	}
}

// turn runs one outage.
func (n *network) turn(o outage) result {
	n.t.Helper()
	var mu sync.Mutex
	var all []request
	failure := time.Now() // send time of the last failed request
	ctx, stop := context.WithTimeout(context.Background(), before+gone+most)
	over := make(chan struct{})
	go func() {
		defer close(over)
		n.stream(ctx, func(r request) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, r)
			if !r.ok && r.sent.After(failure) {
				failure = r.sent
			}
		})
	}()
	time.Sleep(before)
	begun := time.Now()
	o.begin(n)
	time.Sleep(gone)
	o.over(n)
	back := time.Now()
	for ctx.Err() == nil {
		time.Sleep(pause)
		mu.Lock()
		last := failure
		mu.Unlock()
		if time.Since(last) > calm+patience && time.Since(back) > calm+patience {
			break
		}
	}
	stop()
	<-over
	return judge(all, begun, back)
}

// judge returns the result of the requests of a turn.
func judge(all []request, begun, back time.Time) (r result) {
	r.first = most
	for _, q := range all {
		switch {
		case q.ok && q.done.After(back):
			r.first = min(r.first, q.done.Sub(back))
		case !q.ok && q.sent.After(back):
			r.last = max(r.last, q.sent.Sub(back))
			r.failed++
		case !q.ok && q.sent.After(begun):
			r.during++
		}
	}
	return r
}

func TestCostAfterAnOutage(t *testing.T) {
	proxytest.Wanted(t)
	names := []string{"sluice", "haproxy", "nginx"}
	for _, name := range append(names, "nft") {
		proxytest.Find(t, name)
	}
	for _, o := range outages {
		steady := map[string]time.Duration{}
		for _, name := range names {
			t.Run(o.name, func(t *testing.T) {
				n := newNetwork(t)
				n.start(name)
				r := n.turn(o)
				steady[name] = r.last
				t.Logf("%-13s %-8s first 200 after %6.2f s, the last failure came after %6.2f s: %d of those that came afterwards, %d of those meanwhile",
					o.name, name, r.first.Seconds(), r.last.Seconds(), r.failed, r.during)
			})
		}
		best := slices.MinFunc([]string{"haproxy", "nginx"}, func(a, b string) int { return cmp.Compare(steady[a], steady[b]) })
		verdict := "reached"
		if steady["sluice"] > steady[best]+time.Second {
			verdict = "missed"
		}
		t.Logf("%s: steady within a second of the better peer, %s: %s", o.name, best, verdict)
	}
}

func TestJudgeCountsRequestsAfterTheOutage(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	all := []request{
		{at(0), at(1), true}, {at(100), at(101), false}, {at(150), at(3050), true}, // response after the end
		{at(3010), at(3011), false}, {at(3400), at(3500), false}, {at(3200), at(3300), true}, {at(3500), at(3501), true},
	}
	want := result{first: 50 * time.Millisecond, last: 400 * time.Millisecond, failed: 2, during: 1}
	if got := judge(all, at(50), at(3000)); got != want {
		t.Errorf("judged %+v, want %+v", got, want)
	}
	if got := judge(all[:2], at(50), at(3000)); got.first != most || got.failed != 0 {
		t.Errorf("without any response: %+v", got)
	}
}
