package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// identities are the ways in which a service recognises Ann.
var identities = map[string]struct {
	edit func(s *farm.Service)
	path string // %s is the path
	line string
}{
	"header": {func(s *farm.Service) { s.Persistence, s.SessionID = farm.PersistHeader, "X-Client" }, "%s", "X-Client: ann"},
	"cookie": {func(s *farm.Service) { s.Persistence, s.SessionID = farm.PersistCookie, "SID" }, "%s", "Cookie: SID=ann"},
	"url":    {func(s *farm.Service) { s.Persistence, s.SessionID = farm.PersistURL, "sid" }, "%s?sid=ann", "X: y"},
	"parm":   {func(s *farm.Service) { s.Persistence = farm.PersistParm }, "%s;ann", "X: y"},
	"basic":  {func(s *farm.Service) { s.Persistence = farm.PersistBasic }, "%s", "Authorization: Basic YW5uOng="},
	"insert": {func(s *farm.Service) { s.Cookie = farm.DefaultCookie() }, "%s", ""},
}

// house is a service of two backends that take one exchange each. Ann belongs to own, which
// another client occupies.
type house struct {
	*testing.T
	*l7test.Appliance
	service    farm.Service
	addr       string
	own, other *heldBackend
	ownID      uint32
	path, line string
	holder     *l7test.Client
}

func newHouse(t *testing.T, kind string, queue uint16) *house {
	id := identities[kind]
	one, two := newHeldBackend(t), newHeldBackend(t)
	h := &house{T: t, Appliance: l7test.New(t, 1), service: queueing(queue, one.Addr, two.Addr), path: id.path, line: id.line}
	id.edit(&h.service)
	h.addr = h.Serve(l7test.Logged, h.service)
	c := h.ann("/first")
	l7test.Eventually(t, "Ann has a backend", func() bool { return len(one.seen())+len(two.seen()) == 1 })
	h.own, h.other, h.ownID = one, two, 1
	if len(two.seen()) == 1 {
		h.own, h.other, h.ownID = two, one, 2
	}
	h.own.open <- struct{}{}
	res := c.Get()
	if kind == "insert" {
		cookie, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
		h.line = "Cookie: " + cookie
	}
	h.occupy()
	return h
}

// occupy lets a stranger have own. The other backend is free afterwards.
func (h *house) occupy() {
	h.Helper()
	before := len(h.own.seen())
	for len(h.own.seen()) == before {
		n := len(h.own.seen()) + len(h.other.seen())
		c := l7test.Dial(h.T, h.addr).Send(get("/stranger"))
		l7test.Eventually(h.T, "a stranger has a backend", func() bool { return len(h.own.seen())+len(h.other.seen()) > n })
		if len(h.own.seen()) > before {
			h.holder = c
			return
		}
		h.other.open <- struct{}{}
		c.Get()
	}
}

func (h *house) ann(path string) *l7test.Client {
	return l7test.Dial(h.T, h.addr).Send("GET " + fmt.Sprintf(h.path, path) + " HTTP/1.1\r\nHost: a.test\r\n" + h.line + "\r\n\r\n")
}

// at waits until a backend got a request for the path.
func (h *house) at(b *heldBackend, path string) {
	h.Helper()
	l7test.Eventually(h.T, path+" is there", func() bool {
		return slices.ContainsFunc(b.seen(), func(p string) bool { return strings.HasPrefix(p, path) })
	})
}

// served expects that Ann's request arrives at b and gets no new cookie.
func (h *house) served(c *l7test.Client, b *heldBackend, path string) {
	h.Helper()
	h.at(b, path)
	b.open <- struct{}{}
	if res := c.Get(); res.StatusCode != 200 || res.Header.Get("Set-Cookie") != "" {
		h.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
	}
}

// release ends the stranger's exchange.
func (h *house) release() {
	h.own.open <- struct{}{}
	h.holder.Get()
}

func eachIdentity(t *testing.T, queue uint16, test func(h *house)) {
	for kind := range identities {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(newHouse(t, kind, queue))
		})
	}
}

func TestAClientWhoseBackendIsFullKeepsIt(t *testing.T) {
	t.Parallel()
	eachIdentity(t, 0, func(h *house) {
		h.served(h.ann("/meanwhile"), h.other, "/meanwhile")
		h.release()
		h.served(h.ann("/back"), h.own, "/back")
	})
}

// A session that the client's response confirms is not moved either.
func TestAResponseDoesNotMoveASessionWhoseBackendIsFull(t *testing.T) {
	t.Parallel()
	for _, kind := range []farm.Persistence{farm.PersistHeader, farm.PersistCookie} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var full [2]chan bool
			var addrs [2]string
			for i := range addrs {
				full[i] = make(chan bool)
				addrs[i] = l7test.NewBackend(t, func(c *l7test.Recorder) {
					for {
						head, err := c.Head()
						if err != nil {
							return
						}
						if strings.HasPrefix(head, "GET /stay") {
							full[i] <- true
							<-full[i]
						}
						c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nSID: ann\r\nSet-Cookie: SID=ann\r\nContent-Length: 1\r\n\r\n%d", i))
					}
				}).Addr
			}
			s := queueing(0, addrs[:]...)
			s.Persistence, s.SessionID = kind, "SID"
			addr := l7test.New(t, 1).Serve(nil, s)
			ann := "GET / HTTP/1.1\r\nHost: a\r\nSID: ann\r\nCookie: SID=ann\r\n\r\n"
			own := answerTo(t, addr, ann).Text
			i := int(own[0] - '0')
			l7test.Dial(t, addr).Send(strings.Replace(ann, "/ ", "/stay ", 1))
			<-full[i]
			if got := answerTo(t, addr, ann).Text; got == own {
				t.Errorf("the full backend %s served", got)
			}
			full[i] <- true
			l7test.Eventually(t, "Ann is back", func() bool { return answerTo(t, addr, ann).Text == own })
		})
	}
}

func TestAClientWaitsForItsOwnBackendWhileOthersPass(t *testing.T) {
	t.Parallel()
	eachIdentity(t, 10, func(h *house) {
		c := h.ann("/waits")
		l7test.Queued(h.T, h.Appliance, 1)
		for i := range 3 { // strangers are served by the other backend
			path := fmt.Sprintf("/passes%d", i)
			h.served2(l7test.Dial(h.T, h.addr).Send(get(path)), path)
		}
		later := h.ann("/later")
		l7test.Queued(h.T, h.Appliance, 2)
		h.release()
		h.served(c, h.own, "/waits")
		h.served(later, h.own, "/later")
		l7test.Queued(h.T, h.Appliance, 0)
		if f := h.Segment.SumFarm(1); f.QueuedTotal != 2 || f.QueueTimeouts+f.QueueFull+f.NoBackend != 0 {
			h.Errorf("%+v", f)
		}
	})
}

// served2 expects that a stranger's request arrives at the other backend.
func (h *house) served2(c *l7test.Client, path string) {
	h.Helper()
	h.at(h.other, path)
	h.other.open <- struct{}{}
	c.Get()
}

func TestAClientWithoutAPlaceInTheQueueOfItsBackendGetsAnother(t *testing.T) {
	t.Parallel()
	eachIdentity(t, 1, func(h *house) {
		c := h.ann("/waits")
		l7test.Queued(h.T, h.Appliance, 1)
		h.served(h.ann("/meanwhile"), h.other, "/meanwhile")
		h.release()
		h.served(c, h.own, "/waits")
		h.served(h.ann("/back"), h.own, "/back")
	})
}

func TestAClientThatWaitedTooLongForItsBackendGetsAnother(t *testing.T) {
	t.Parallel()
	eachIdentity(t, 10, func(h *house) {
		h.service.QueueTimeout = 1
		h.Serve(l7test.Logged, h.service)
		h.served(h.ann("/late"), h.other, "/late")
		if f := h.Segment.SumFarm(1); f.QueueTimeouts+f.NoBackend != 0 || f.Queued != 0 || f.QueuedTotal != 1 {
			h.Errorf("%+v", f)
		}
		h.release()
		h.served(h.ann("/back"), h.own, "/back")
		// With both full, the client gets a 503 after one timeout.
		h.occupy()
		other := l7test.Dial(h.T, h.addr).Send(get("/stranger2"))
		h.at(h.other, "/stranger2")
		if res := h.ann("/never").Get(); res.StatusCode != 503 {
			h.Errorf("%d", res.StatusCode)
		}
		if f := h.Segment.SumFarm(1); f.QueueTimeouts != 1 || f.NoBackend != 1 {
			h.Errorf("%+v", f)
		}
		l7test.Eventually(h.T, "the log says why", func() bool { return h.Appliance.Log.Has("no backend had room in time") })
		h.other.open <- struct{}{}
		other.Get()
		h.release()
	})
}

// A 503 has another cause if no backend could serve the client, room or not.
func TestQueueTimeoutIsNotCountedIfBackendsFail(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "header", 10)
	h.service.QueueTimeout = 1
	h.Serve(l7test.Logged, h.service)
	h.other.Close()
	if res := h.ann("/never").Get(); res.StatusCode != 503 {
		t.Errorf("%d", res.StatusCode)
	}
	if f := h.Segment.SumFarm(1); f.QueueTimeouts != 0 || f.NoBackend != 1 || f.QueuedTotal != 1 {
		t.Errorf("%+v", f)
	}
	l7test.Eventually(t, "the log says why", func() bool { return h.Appliance.Log.Has("could not be connected to") })
}

func TestWaitersLeaveABackendThatCannotServeThem(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *house){
		"down": func(h *house) { h.Health.SetGuardian(h.ownID, health.Down, time.Now()) },
		"cut": func(h *house) {
			h.service.Backends[h.ownID-1].Maintenance = farm.MaintenanceCut
			h.Serve(nil, h.service)
		},
		"deleted": func(h *house) {
			h.service.Backends = slices.Delete(h.service.Backends, int(h.ownID-1), int(h.ownID))
			h.Serve(nil, h.service)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "header", 10)
			var all []*l7test.Client
			for i := range 3 {
				all = append(all, h.ann("/waits"))
				l7test.Queued(t, h.Appliance, uint64(i+1))
			}
			change(h)
			for _, c := range all {
				h.other.open <- struct{}{}
				if res := c.Get(); res.StatusCode != 200 {
					t.Errorf("%d", res.StatusCode)
				}
			}
			l7test.Queued(t, h.Appliance, 0)
			h.served(h.ann("/moved"), h.other, "/moved")
		})
	}
}

// A drained backend keeps its clients, also those that wait.
func TestWaitersStayWithADrainedBackend(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "header", 10)
	c := h.ann("/waits")
	l7test.Queued(t, h.Appliance, 1)
	h.service.Backends[h.ownID-1].Maintenance = farm.MaintenanceDrain
	h.Serve(nil, h.service)
	later := h.ann("/later")
	l7test.Queued(t, h.Appliance, 2)
	h.release()
	h.served(c, h.own, "/waits")
	h.served(later, h.own, "/later")
}

// occupyOther lets a stranger have the other backend, too. It returns a function that ends the
// exchange.
func (h *house) occupyOther() (release func()) {
	h.Helper()
	c := l7test.Dial(h.T, h.addr).Send(get("/both"))
	h.at(h.other, "/both")
	return func() {
		h.other.open <- struct{}{}
		c.Get()
	}
}

// The change refuses newcomers only.
func TestWaitersStayWhenTheirQueueIsSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *house)
		moves  bool // to the other backend
	}{
		"alone": {func(*house) {}, false},
		"drained": {func(h *house) {
			h.service.Backends[h.ownID-1].Maintenance = farm.MaintenanceDrain
		}, false},
		"drained, the other down": {func(h *house) {
			h.service.Backends[h.ownID-1].Maintenance = farm.MaintenanceDrain
			h.Health.SetGuardian(3-h.ownID, health.Down, time.Now())
		}, false},
		"down": {func(h *house) { h.Health.SetGuardian(h.ownID, health.Down, time.Now()) }, true},
		"cut": {func(h *house) {
			h.service.Backends[h.ownID-1].Maintenance = farm.MaintenanceCut
		}, true},
		"deleted": {func(h *house) {
			h.service.Backends = slices.Delete(h.service.Backends, int(h.ownID-1), int(h.ownID))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "header", 2)
			freeOther := h.occupyOther()
			var all []*l7test.Client
			for i := range 2 {
				all = append(all, h.ann(fmt.Sprintf("/waits%d", i)))
				l7test.Queued(t, h.Appliance, uint64(i+1))
			}
			h.service.Queue = 0
			c.change(h)
			h.Serve(l7test.Logged, h.service)
			if res := l7test.Dial(t, h.addr).Send(get("/new")).Get(); res.StatusCode != 503 {
				t.Errorf("a newcomer got %d", res.StatusCode)
			}
			l7test.Queued(t, h.Appliance, 2)
			b, release := h.own, h.release
			if c.moves {
				b, release = h.other, freeOther
			}
			release()
			for i, c := range all {
				h.served(c, b, fmt.Sprintf("/waits%d", i))
			}
			l7test.Queued(t, h.Appliance, 0)
			if f := h.Segment.SumFarm(1); f.QueueTimeouts+f.QueueFull != 0 || f.NoBackend != 1 {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestWaitersOfAQueueThatIsSwitchedOffKeepTheirDeadline(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *house){
		"alone": func(*house) {},
		"down":  func(h *house) { h.Health.SetGuardian(h.ownID, health.Down, time.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "header", 2)
			h.occupyOther()
			h.service.QueueTimeout = 2
			h.Serve(l7test.Logged, h.service)
			c := h.ann("/never")
			l7test.Eventually(t, "it waits", func() bool { return h.Segment.SumFarm(1).QueuedTotal == 1 })
			h.service.Queue, h.service.QueueTimeout = 0, 600
			change(h)
			h.Serve(l7test.Logged, h.service)
			if res := c.Get(); res.StatusCode != 503 {
				t.Errorf("%d", res.StatusCode)
			}
			if f := h.Segment.SumFarm(1); f.QueueTimeouts != 1 || f.QueueFull != 0 || f.Queued != 0 {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestAHigherLimitLetsWaitersOfABackendIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "cookie", 10)
	for i := range 3 {
		h.ann("/waits")
		l7test.Queued(t, h.Appliance, uint64(i+1))
	}
	h.service.Backends[h.ownID-1].ConnLimit = 3
	h.Serve(nil, h.service)
	l7test.Queued(t, h.Appliance, 1)
	h.service.Backends[h.ownID-1].ConnLimit = 0
	h.Serve(nil, h.service)
	l7test.Queued(t, h.Appliance, 0)
}

func TestStreamsWaitForTheirOwnBackend(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "header", 10)
	client := l7test.HTTP2Client(t, h.addr, false)
	got := make(chan error, 3)
	for range 3 {
		go func() {
			req, _ := http.NewRequest("GET", "http://"+h.addr+"/stream", nil)
			req.Header.Set("X-Client", "ann")
			res, err := client.Do(req)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
			}
			got <- err
		}()
	}
	l7test.Queued(t, h.Appliance, 3)
	h.release()
	for range 3 {
		h.own.open <- struct{}{}
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	for _, path := range h.other.seen() {
		if path == "/stream" {
			t.Error("a stream went to the other backend")
		}
	}
}

func TestWaitersOfABackendThatLeaveAreNotServed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "header", 10)
	gone, c := h.ann("/gone"), (*l7test.Client)(nil)
	l7test.Queued(t, h.Appliance, 1)
	c = h.ann("/waits")
	l7test.Queued(t, h.Appliance, 2)
	_ = gone.Close()
	l7test.Queued(t, h.Appliance, 1)
	h.release()
	h.served(c, h.own, "/waits")
	if slices.Contains(h.own.seen(), "/gone") {
		t.Error("it was served")
	}
}

// A cookie with a lifetime expires after the last response, not after the first. Its backend
// renews it, and no other one.
func TestACookieWithALifetimeIsRenewed(t *testing.T) {
	t.Parallel()
	for _, ttl := range []farm.Seconds{0, 60} {
		s := l7test.Inserting(named(t, "1").Addr, named(t, "2").Addr)
		s.Cookie.TTL = ttl
		addr := l7test.New(t, 1).Serve(nil, s)
		res := answerTo(t, addr, get("/"))
		cookie, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
		for range 3 {
			again := answerTo(t, addr, l7test.Request("Cookie: "+cookie))
			if set := again.Header.Get("Set-Cookie"); again.Text != res.Text || strings.Contains(set, "Max-Age=60") != (ttl > 0) || (set != "") != (ttl > 0) {
				t.Errorf("ttl %d: %q of %s after %s", ttl, set, again.Text, res.Text)
			}
		}
	}
}
