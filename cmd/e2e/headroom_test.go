package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slots starts a server that handles that many requests at once, each for a time, and
// returns its address.
func slots(t *testing.T, n int, each time.Duration) string {
	t.Helper()
	free := make(chan struct{}, n)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		free <- struct{}{}
		time.Sleep(each)
		<-free
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// clients sends sequential requests from n clients until end.
func clients(t *testing.T, n int, url string) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	for range n {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if resp, err := c.Get(url); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	end = sync.OnceFunc(func() { close(stop); all.Wait(); c.CloseIdleConnections() })
	t.Cleanup(end)
	return end
}

// roomOf is how much more load a backend of a farm can take.
type roomOf struct {
	Bend  string
	Limit *float64
	Text  string
}

func (a *appliance) room(name string) (r roomOf) {
	a.t.Helper()
	var body struct{ Params []roomOf }
	if err := json.Unmarshal([]byte(a.must("headroom", name, "--json")), &body); err != nil || len(body.Params) == 0 {
		a.t.Fatalf("%v %+v", err, body)
	}
	return body.Params[0]
}

// A backend's capacity is learned from its traffic and survives process restarts. With
// SLUICE_E2E_LONG=1 saturation is tested too, which takes minutes.
func TestHeadroomIsLearnedFromTraffic(t *testing.T) {
	t.Parallel() // it mostly waits
	const able = 4
	a := start(t, asOne(), dataDir(t, asOne()))
	url := a.farm("shop", slots(t, able, 20*time.Millisecond))
	end := clients(t, 2, url)
	within(t, 3*time.Minute, "two at once are known", func() error {
		if r := a.room("shop"); r.Bend != "not seen" || *r.Limit < 1.4 || *r.Limit > 2.8 {
			time.Sleep(time.Second)
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
	before := a.pid("mgmt")
	if err := syscall.Kill(before, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "another mgmt knows it", func() error {
		if out, code := a.run("headroom", "shop"); code != 0 || !strings.Contains(out, "  >") {
			return fmt.Errorf("%d %s", code, out)
		}
		if a.pid("mgmt") == before {
			return fmt.Errorf("it is the same one")
		}
		return nil
	})
	end()
	if !long() {
		return
	}
	clients(t, 4*able, url)
	within(t, 5*time.Minute, "the bend is known", func() error {
		if r := a.room("shop"); r.Bend != "seen" || *r.Limit < able/1.4 || *r.Limit > able*1.4 {
			time.Sleep(time.Second)
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
	a.must("backend", "create", "shop", "all", slots(t, able, 20*time.Millisecond))
	within(t, 2*time.Minute, "the other cannot take over", func() error {
		out, code := a.run("rehearse", "--backend", "shop/all/1")
		if code != 3 || !strings.Contains(out, "does not fit") {
			time.Sleep(time.Second)
			return fmt.Errorf("%d %s", code, out)
		}
		return nil
	})
}
