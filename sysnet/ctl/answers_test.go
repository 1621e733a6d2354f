package ctl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

// answering starts a netd that sends the same reply and files to every request. Empty
// words close the connection instead.
func answering(t *testing.T, words string, files ...*os.File) *ctl.Client {
	t.Helper()
	path, l := ctltest.Listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<16)
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			for {
				if n, _, err := shm.Receive(c, buf); n == 0 || err != nil || words == "" || shm.Send(c, []byte(words), files...) != nil {
					break
				}
			}
			_ = c.Close()
		}
	}()
	c := ctltest.Client(t, path)
	t.Cleanup(func() { c.Hangup(); _ = l.Close(); <-done })
	return c
}

// descriptors returns the number of open descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestAnswersOutsideTheContractAreErrors(t *testing.T) {
	open, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	number, text := sealText(t, "7"), sealText(t, "seven")
	key := "tcp/127.0.0.1:80"
	rules := func(c *ctl.Client) error { return c.Ask(context.Background(), ctl.OpKernelChange, 1, new(int)) }
	two := func(c *ctl.Client) error { _, err := c.Open(context.Background(), key, 2); return err }
	for name, c := range map[string]struct {
		words string
		files []*os.File
		call  func(c *ctl.Client) error
		want  string
	}{
		"one socket of two":        {`{}`, []*os.File{number}, two, "netd: 2 sockets asked for, 1 received"},
		"three sockets for two":    {`{}`, []*os.File{number, number, number}, two, "netd: 2 sockets asked for, 3 received"},
		"sockets and a refusal":    {`{"code":"failed","error":"no"}`, []*os.File{number, number}, two, "no"},
		"no JSON":                  {`{`, []*os.File{number}, two, "netd does not answer: unexpected end of JSON input"},
		"nothing":                  {``, nil, two, "netd does not answer: EOF"},
		"keys it will not end":     {`{"more":true}`, nil, func(c *ctl.Client) error { _, err := c.List(context.Background()); return err }, ""},
		"a list and a refusal":     {`{"code":"failed","error":"no"}`, nil, func(c *ctl.Client) error { _, err := c.List(context.Background()); return err }, "no"},
		"sealed memory is missing": {`{"sealed":true}`, nil, rules, "netd: the reply is missing in its answer"},
		"two of them":              {`{"sealed":true}`, []*os.File{number, number}, rules, "netd: the reply is missing in its answer"},
		"it is not sealed":         {`{"sealed":true}`, []*os.File{open}, rules, "netd: reply: "},
		"it is none of those":      {`{"sealed":true}`, []*os.File{text}, rules, "netd: reply: invalid character"},
		"it is another kind":       {`{"body":"seven"}`, nil, rules, "netd: reply: json: cannot unmarshal string"},
		"it is good":               {`{"sealed":true}`, []*os.File{number}, rules, ""},
		"nobody wants it":          {`{"body":"seven"}`, nil, func(c *ctl.Client) error { return c.Ask(context.Background(), ctl.OpKernelState, 1, nil) }, ""},
		"the question is none":     {`{}`, nil, func(c *ctl.Client) error { return c.Ask(context.Background(), ctl.OpKernelState, func() {}, nil) }, "json: unsupported type: func()"},
	} {
		client := answering(t, c.words, c.files...)
		before := -1
		for range 2 { // the second time the connection exists
			err := c.call(client)
			if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			client.Hangup()
			if now := descriptors(t); before >= 0 && now > before+1 { // the other end is closed asynchronously
				t.Errorf("%s: %d descriptors are left open", name, now-before)
			} else {
				before = now
			}
		}
	}
	if _, err := ctl.NewClient("/nowhere/netd.sock").List(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "netd does not answer: dial") {
		t.Errorf("without netd: %v", err)
	}
}

// Cancelling the context ends the wait for a netd that hangs.
func TestCancelledRequestEnds(t *testing.T) {
	path, l := ctltest.Listen(t)
	defer l.Close() // Ask connects through the backlog
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := ctltest.Client(t, path)
	go func() { done <- c.Ask(ctx, ctl.OpKernelState, 1, nil) }()
	in, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, _, err := shm.Receive(in, make([]byte, 100)); err != nil { // Ask is waiting for the reply
		t.Fatal(err)
	}
	cancel()
	select {
	case err = <-done:
	case <-time.After(15 * time.Second): // half of askTime
		err = nil
	}
	if err == nil {
		t.Error("it is still waited for")
	}
}

// logged starts a netd and captures its log.
func logged(t *testing.T, parts ctl.Parts) (path string, log *logtest.Log) {
	t.Helper()
	path, l := ctltest.Listen(t)
	log = &logtest.Log{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ctl.Serve(ctx, nil, l, ctltest.Self(), slog.New(slog.NewTextHandler(log, nil)), parts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return path, log
}

// Idle connections lock no client out: each of forty clients gets its replies, even if its
// connection was closed to make room for another.
func TestIdleConnectionsMakeRoomForNewOnes(t *testing.T) {
	path, log := logged(t, nil)
	var all []*ctl.Client
	for range 40 {
		all = append(all, ctltest.Client(t, path))
	}
	for round := range 2 {
		for i, c := range all {
			if _, err := c.List(t.Context()); err != nil {
				t.Fatalf("round %d, connection %d: %v", round, i+1, err)
			}
		}
	}
	if !log.Has("idle the longest") || log.Has("turned away") {
		t.Errorf("log: %s", log)
	}
}

// While all connections have a request in progress, another client gets this as its error. It
// succeeds as soon as one of them has its reply.
func TestBusyLimitIsReportedToTheClient(t *testing.T) {
	asked, answer := make(chan struct{}, 16), make(chan struct{})
	path, log := logged(t, ctl.Parts{ctl.OpStacks: ctl.About(func(context.Context, struct{}) (string, error) {
		asked <- struct{}{}
		<-answer
		return "stacks", nil
	})})
	done := make(chan error, 16)
	for range 16 {
		go func() {
			_, err := ctltest.Client(t, path).Stacks(t.Context())
			done <- err
		}()
	}
	for range 16 {
		<-asked
	}
	if _, err := ctltest.Client(t, path).List(t.Context()); !errors.Is(err, ctl.ErrBusy) || !strings.Contains(err.Error(), "netd is busy with 16 requests") || !log.Has("too many connections") {
		t.Errorf("one too many: %v; log: %s", err, log)
	}
	close(answer)
	for range 16 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := ctltest.Client(t, path).List(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Connections of other users do not take part in the limit.
func TestStrangersUseNoSlot(t *testing.T) {
	path := ctltest.Serve(t, []uint32{uint32(os.Getuid()) + 1}, nil)
	for range 40 {
		if _, err := ctltest.Client(t, path).List(t.Context()); err == nil || errors.Is(err, ctl.ErrBusy) {
			t.Fatalf("a stranger: %v", err)
		}
	}
}

func TestOversizedMessageIsRefusedOrEndsItsConnection(t *testing.T) {
	path, log := logged(t, nil)
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, size := range []int{4097, 5000} {
		_, _ = conn.Write([]byte(strings.Repeat("x", size)))
		buf := make([]byte, 1000)
		n, err := conn.Read(buf)
		if want := fmt.Sprintf("request of %d bytes", size); size == 4097 && !strings.Contains(string(buf[:n]), want) {
			t.Errorf("%d bytes: %s, %v", size, buf[:n], err)
		} else if size > 4097 && err != io.EOF {
			t.Errorf("%d bytes: %s, %v", size, buf[:n], err)
		}
	}
	_ = conn.Close()
	if _, err := ctltest.Client(t, path).List(t.Context()); err != nil || len(log.Lines("connection ended")) != 1 {
		t.Errorf("then: %v; log: %s", err, log) // a connection closed by the peer is not logged
	}
}

func TestUnencodableReplyIsAFailure(t *testing.T) {
	c := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{
		ctl.OpKernelState: func(context.Context, []byte, []*os.File) (any, error) { return func() {}, nil },
	}))
	var refused *ctl.Error
	if _, err := c.KernelState(t.Context()); !errors.As(err, &refused) || refused.Code != ctl.CodeFailed || !strings.Contains(refused.Text, "func()") {
		t.Errorf("answered %v", err)
	}
}

func TestClosedSocketEndsNetd(t *testing.T) {
	_, l := ctltest.Listen(t)
	_ = l.Close()
	if err := ctl.Serve(t.Context(), nil, l, ctltest.Self(), quiet, nil); err == nil || !strings.HasPrefix(err.Error(), "netd socket: ") {
		t.Errorf("it ended with %v", err)
	}
}

// Open is atomic: if the second of two sockets cannot be opened, the first is closed and
// existing sockets are kept.
func TestOpenIsAtomicWithoutDescriptors(t *testing.T) {
	c, addr := ctltest.Client(t, serve(t)), porttest.TCP(t)
	_ = openSockets(t, c, addr, 1)[0].Close()
	held := descriptors(t)
	restore := descriptortest.Limit(t, held+5)
	_, err := c.Open(t.Context(), ctl.KeyTCP(addr), 60)
	restore()
	if !errors.Is(err, ctl.ErrTooMany) {
		t.Errorf("refused by %v", err)
	}
	if now := descriptors(t); now > held {
		t.Errorf("%d descriptors are open, want %d", now, held)
	}
	if files := openSockets(t, c, addr, 1); len(files) != 1 {
		t.Errorf("%d sockets", len(files))
	}
}

func TestForeignIPv6ListenerIsACollision(t *testing.T) {
	c, port := ctltest.Client(t, serve(t)), porttest.TCP(t).Port()
	all, one := netip.AddrPortFrom(netip.IPv6Unspecified(), port), netip.AddrPortFrom(netip.IPv6Loopback(), port)
	for _, at := range []netip.AddrPort{all, one} { // next to an own listener
		files, err := c.Open(t.Context(), ctl.KeyTCP(at), 1)
		if errors.Is(err, ctl.ErrNotLocal) {
			t.Skipf("no IPv6 here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = files[0].Close()
	}
	if err := c.Close(t.Context(), ctl.KeyTCP(all)); err != nil {
		t.Fatal(err)
	}
	l, err := sharing(true).Listen(t.Context(), "tcp6", all.String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := c.Open(t.Context(), ctl.KeyTCP(all), 1); !errors.Is(err, ctl.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
}
