package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestStreamsAreRecordedCountedAndNamedOneByOne(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ids := map[string]string{} // at the backend, by path
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ids[r.URL.Path] = r.Header.Get("X-Request-Id")
		mu.Unlock()
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	})
	l7test.EachWay(t, handler, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		r := l7test.RecordsOf(t, a)
		const n = 100
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				resp, err := c.Get(fmt.Sprintf("%s/%d", url, i))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			})
		}
		all.Wait()
		seen := map[string]bool{}
		for range n {
			l := r.Next()
			if l.Proto != accesslog.ProtoHTTP2 || l.Status != 200 || l.Client != "127.0.0.1" || l.BytesOut < 1000 || l.Total < l.Response ||
				(l.TLSVersion != 0) != strings.HasPrefix(url, "https") || l.Flags&^(accesslog.Logged|accesslog.Reused|accesslog.Retried) != 0 {
				t.Errorf("%+v", l)
			}
			mu.Lock()
			if !anID.MatchString(l.ID) || ids[l.Path] != l.ID || seen[l.ID] {
				t.Errorf("%s is recorded as %s, the backend got %s", l.Path, l.ID, ids[l.Path])
			}
			mu.Unlock()
			seen[l.ID] = true
		}
		var streams, connections uint64
		for _, l := range a.Segment.SumLoops() {
			streams, connections = streams+l.HTTP2Streams, connections+l.HTTP2Connections
		}
		if streams != n || connections == 0 || connections > n {
			t.Errorf("%d streams on %d connections are counted", streams, connections)
		}
		if sum := a.Segment.SumFarmTimes(1); sum.Total.Count() != n {
			t.Errorf("%d totals are counted", sum.Total.Count())
		}
	}, func(h *farm.HTTP) { h.Logs = true })
}
