package floods

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
)

const (
	clients = 4                    // kept connections of the polite client
	pace    = 4 * time.Millisecond // between the requests of each
	request = "GET /128 HTTP/1.1\r\nHost: a.test\r\n\r\n"
)

// visit is the experience of the polite client in a turn.
type visit struct {
	p50, p99, max time.Duration
	failed        int
}

// politely sends requests at an even pace for the duration long. Latency counts from the
// due time, even if a request waits for the previous one.
func (m *machine) politely(long time.Duration) (visit, error) {
	var mu sync.Mutex
	var all measure.Histogram
	var v visit
	var broken error
	var wait sync.WaitGroup
	for range clients {
		c, err := m.dial(polite)
		if err != nil {
			return v, err
		}
		wait.Go(func() {
			defer c.Close()
			h, err := ask(c, long)
			mu.Lock()
			defer mu.Unlock()
			all.Merge(h)
			if err != nil {
				v.failed, broken = v.failed+1, err
			}
		})
	}
	wait.Wait()
	if all.Count() == 0 {
		return v, fmt.Errorf("nothing was answered: %w", broken)
	}
	v.p50, v.p99, v.max = all.Percentile(50), all.Percentile(99), all.Max()
	return v, nil
}

func ask(c net.Conn, long time.Duration) (*measure.Histogram, error) {
	h := new(measure.Histogram)
	r := bufio.NewReader(c)
	end := time.Now().Add(long)
	for due := time.Now(); due.Before(end); due = due.Add(pace) {
		time.Sleep(time.Until(due))
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.WriteString(c, request); err != nil {
			return h, err
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return h, err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
			return h, fmt.Errorf("status %d: %w", res.StatusCode, err)
		}
		h.Record(time.Since(due).Nanoseconds())
	}
	return h, nil
}

func (m *machine) dial(to string) (c net.Conn, err error) {
	m.Do(func() { c, err = net.DialTimeout("tcp", to, 5*time.Second) })
	return c, err
}
