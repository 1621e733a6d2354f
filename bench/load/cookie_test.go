package load_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
)

// cookieServer sets a cookie for clients without one and records the cookies it receives.
func cookieServer(t *testing.T, sets bool) (load.Spec, func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]int{}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		value := "none"
		if c, err := r.Cookie("bench"); err == nil {
			value = c.Value
		} else if sets {
			w.Header().Add("Set-Cookie", "other=1; Path=/")
			w.Header().Add("Set-Cookie", fmt.Sprintf("bench=given%d; Path=/", seen["none"]))
		}
		seen[value]++
		w.Header().Set("X-Bench", "response")
		w.Header().Set("Content-Length", "128")
		_, _ = w.Write(make([]byte, 128))
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	s := spec(netip.MustParseAddrPort(l.Addr().String()))
	s.Connections, s.Duration = 4, 20*time.Millisecond
	return s, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func TestEachConnectionSendsACookieOfItsOwn(t *testing.T) {
	s, seen := cookieServer(t, false)
	s.Cookie = "bench"
	result := run(t, s)
	if result.Errors != 0 || len(seen()) != 4 || seen()["none"] != 0 {
		t.Errorf("cookies %v, errors %v", seen(), result.Causes)
	}
}

func TestALearnedCookieIsSentBack(t *testing.T) {
	s, seen := cookieServer(t, true)
	s.LearnCookie = "bench"
	result := run(t, s)
	if result.Errors != 0 || len(seen()) != 5 || seen()["none"] != 4 {
		t.Errorf("cookies %v, errors %v", seen(), result.Causes)
	}
}

func TestMissingCaseSubjectIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*load.Spec)
		want string
	}{
		"cookie": {func(s *load.Spec) { s.LearnCookie = "bench" }, "sets no cookie"},
		"field":  {func(s *load.Spec) { s.Require = "X-Bench: other" }, "lacks the field"},
		"there":  {func(s *load.Spec) { s.Require = "x-bench: response" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := cookieServer(t, false)
			c.edit(&s)
			client, err := load.NewClient(s)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = client.WarmUp()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
