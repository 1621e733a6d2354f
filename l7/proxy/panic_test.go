package proxy_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/proxy"
)

// mistake is an appliance with one loop and one backend controlled by the test. Its
// exchanges are broken at a chosen moment.
type mistake struct {
	*l7test.Appliance
	t       *testing.T
	addr    string
	service farm.Service
	heads   chan string // requests received by the backend
	say     chan string // its responses in order; "" closes the connection
	ended   chan bool   // closed backend connections
}

func newMistake(t *testing.T) *mistake {
	m := &mistake{t: t, heads: make(chan string, 9), say: make(chan string, 9), ended: make(chan bool, 9)}
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		defer func() { m.ended <- true }()
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			m.heads <- head
			for text := range m.say {
				if text == "" {
					return
				}
				c.Say(text)
				if !strings.HasSuffix(text, "...") {
					break
				}
			}
		}
	})
	t.Cleanup(func() { close(m.say) })
	m.Appliance = l7test.New(t, 1)
	m.service = l7test.Service("web", b.Addr)
	m.service.Backends[0].ConnLimit = 1
	m.addr = m.Serve(m.edit, m.service)
	return m
}

// backendTimeout, in seconds, exceeds any wait of a test, so that a slow machine causes no
// timeouts.
const backendTimeout = 60

func (m *mistake) edit(h *farm.HTTP) {
	h.RequestTimeout, h.ResurrectTime = 60, 1
	h.ResponseTimeout, h.ConnectTimeout = backendTimeout, backendTimeout
}

// timesOut advances the clock beyond the backend's connect or response timeout.
func (m *mistake) timesOut() {
	enginetest.Advance(m.Loops[0], (backendTimeout+1)*time.Second)
}

// under sends a request and waits until the backend has received it.
func (m *mistake) under(c *l7test.Client, text string) {
	m.t.Helper()
	c.Send(text)
	m.wait(m.heads)
}

func (m *mistake) wait(heads chan string) {
	m.t.Helper()
	select {
	case <-heads:
	case <-time.After(5 * time.Second):
		m.t.Fatal("the backend got no request")
	}
}

// closed checks that the client connection ends.
func (m *mistake) closed(c *l7test.Client) {
	m.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(4 * time.Second))
	buf := make([]byte, 4096)
	for {
		_, err := c.Read(buf)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			m.t.Fatal("the client's connection hangs")
		}
		if err != nil {
			return
		}
	}
}

// others checks that panics were contained, that no exchange is counted as in progress
// except those lost on purpose, and that others are served. The limit of the backend allows
// a single exchange.
func (m *mistake) others(lost bool) {
	m.t.Helper()
	if m.Engine.TakePanics() == 0 {
		m.t.Error("no panic occurred: the test would check too little")
	}
	l7test.Eventually(m.t, "gauges return to zero", func() bool {
		f, b := m.Segment.SumFarm(1), m.Segment.SumBackend(1)
		return f.Established == 0 && f.Pending == 0 && (lost || b.Established == 0 && b.Pending == 0)
	})
	if f := m.Segment.SumFarm(1); f.ClientAborts != 0 {
		m.t.Errorf("%d client aborts are counted although all clients stayed", f.ClientAborts)
	}
	if lost {
		m.service.Backends[0].ConnLimit = 0
	}
	m.Serve(m.edit, m.service)
	for len(m.say) > 0 {
		<-m.say
	}
	c := l7test.Dial(m.t, m.addr)
	for range 2 {
		m.say <- ok
		if res := c.Send(get("/")).Get(); res.StatusCode != 200 || res.Text != "ok" {
			m.t.Errorf("another client gets %s %q", res.Status, res.Text)
		}
	}
}

// gone checks that the backend connection ends.
func (m *mistake) gone() {
	m.t.Helper()
	select {
	case <-m.ended:
	case <-time.After(5 * time.Second):
		m.t.Error("the backend's connection hangs")
	}
}

func TestPanicInTheNextRequestOfAClientClosesIt(t *testing.T) {
	t.Parallel()
	m := newMistake(t)
	c := l7test.Dial(t, m.addr)
	m.under(c, get("/1")+get("/2"))
	m.Engine.Break(proxy.BreakPicking)
	m.say <- ok
	if res := c.Get(); res.Text != "ok" {
		t.Errorf("the first answer is %q", res.Text)
	}
	m.closed(c)
	m.others(false)
}

func TestPanicAfterTheBackendsConnectionWasGivenUpClosesTheClient(t *testing.T) {
	t.Parallel()
	for _, last := range []string{
		"",                             // it ends
		"HTTP/1.1 200 OK\r\nA\r\n\r\n", // it breaks the rules
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
	} {
		m := newMistake(t)
		c := l7test.Dial(t, m.addr)
		m.say <- ok
		m.under(c, get("/1"))
		if res := c.Get(); res.Text != "ok" {
			t.Errorf("the first answer is %q", res.Text)
		}
		m.under(c, get("/2")+get("/3"))
		m.Engine.Break(proxy.BreakPicking)
		m.say <- last
		m.closed(c)
		m.gone()
		m.others(false)
	}
}

func TestPanicWhileGivingUpABackendThatIsSilentClosesBothSides(t *testing.T) {
	t.Parallel()
	m := newMistake(t)
	c := l7test.Dial(t, m.addr)
	m.under(c, get("/"))
	if m.Engine.Break(proxy.BreakFarm) != 1 {
		t.Fatal("no exchange is under way")
	}
	m.timesOut()
	m.closed(c)
	m.say <- ok
	m.gone()
	m.others(false)
}

func TestPanicAfterAConnectThatFailedClosesTheClient(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]int{"service": proxy.BreakService, "farm": proxy.BreakFarm, "backend": proxy.BreakBackend} {
		t.Run(name, func(t *testing.T) {
			m := newMistake(t)
			alive := m.service.Backends[0]
			m.service.Backends[0] = l7test.Service("web", porttest.Full(t).String()).Backends[0]
			m.Serve(m.edit, m.service)
			c := l7test.Dial(t, m.addr).Send(get("/"))
			l7test.Eventually(t, "the connect is under way", func() bool { return m.Segment.SumBackend(1).Pending == 1 })
			m.Engine.Break(what)
			m.timesOut()
			m.closed(c)
			m.service.Backends[0] = alive
			m.others(what == proxy.BreakBackend)
		})
	}
}

func TestPanicInTheAnswerClosesBothSides(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]int{"service": proxy.BreakService, "farm": proxy.BreakFarm, "backend": proxy.BreakBackend} {
		t.Run(name, func(t *testing.T) {
			m := newMistake(t)
			c := l7test.Dial(t, m.addr)
			m.under(c, get("/"))
			m.Engine.Break(what)
			m.say <- ok
			m.closed(c)
			m.gone()
			m.others(what == proxy.BreakBackend)
		})
	}
}

func TestPanicInTheBodyOfAnAnswerClosesBothSides(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]int{"farm": proxy.BreakFarm, "backend": proxy.BreakBackend} {
		t.Run(name, func(t *testing.T) {
			m := newMistake(t)
			c := l7test.Dial(t, m.addr)
			m.under(c, get("/"))
			m.say <- "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n..."
			if _, err := c.Reader().Peek(1); err != nil {
				t.Fatal(err)
			}
			m.Engine.Break(what)
			m.say <- "more"
			m.closed(c)
			m.gone()
			m.others(what == proxy.BreakBackend)
		})
	}
}

func TestPanicInTheBodyOfARequestClosesBothSides(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]int{"farm": proxy.BreakFarm, "backend": proxy.BreakBackend} {
		t.Run(name, func(t *testing.T) {
			m := newMistake(t)
			c := l7test.Dial(t, m.addr)
			m.under(c, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nsome")
			m.Engine.Break(what)
			c.Send("more")
			m.closed(c)
			m.say <- ok
			m.gone()
			m.others(what == proxy.BreakBackend)
		})
	}
}

func TestPanicInATunnelClosesBothSides(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]int{"farm": proxy.BreakFarm, "backend": proxy.BreakBackend} {
		for _, speaker := range []string{"client", "backend"} {
			t.Run(name+" while the "+speaker+" speaks", func(t *testing.T) {
				m := newMistake(t)
				c := l7test.Dial(t, m.addr)
				m.under(c, "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
				m.say <- "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n..."
				if _, err := c.Reader().Peek(1); err != nil {
					t.Fatal(err)
				}
				m.Engine.Break(what)
				if speaker == "client" {
					c.Send("more")
				} else {
					m.say <- "more"
				}
				m.closed(c)
				m.say <- ok
				m.gone()
				m.others(what == proxy.BreakBackend)
			})
		}
	}
}

func TestPanicWhileAFarmsClientsAreForceClosedSparesNone(t *testing.T) {
	t.Parallel()
	m := newMistake(t)
	m.service.Backends[0].ConnLimit = 0
	m.Serve(m.edit, m.service)
	m.Engine.SetGrace(50 * time.Millisecond)
	first, second := l7test.Dial(t, m.addr), l7test.Dial(t, m.addr)
	m.under(first, get("/"))
	m.Engine.Break(proxy.BreakBackend)
	m.under(second, get("/"))
	m.Publish(farm.Config{})
	m.closed(first)
	m.closed(second)
	m.say <- ok
	m.say <- ok
	m.gone()
	m.gone()
	m.others(true)
}
