package accesslog

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
)

// message is the format of RFC 5424, with a line as its text.
var message = regexp.MustCompile(`^<134>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ sluice \d+ access - (\{.*\})$`)

func toSyslog(target string) *farm.Config {
	return config(func(l *farm.AccessLog) { l.Sink, l.Target = farm.LogSyslog, target })
}

func wantMessages(t *testing.T, n int, next func() (string, error)) {
	t.Helper()
	for i := range n {
		text, err := next()
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if m := message.FindStringSubmatch(text); m == nil || !strings.Contains(m[1], `"farm":"shop"`) {
			t.Errorf("message %d: %q", i, text)
		}
	}
}

func TestSyslogOverUDPGetsADatagramForEachLine(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantDatagrams(t, c, "udp://"+c.LocalAddr().String())
}

func TestSyslogOverAUnixSocketGetsADatagramForEachLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	c, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantDatagrams(t, c, "unix://"+path)
}

func wantDatagrams(t *testing.T, c net.PacketConn, target string) {
	t.Helper()
	a := newAppliance(t, toSyslog(target))
	for range 10 {
		a.put(nil)
	}
	buf := make([]byte, 64<<10)
	_ = c.SetReadDeadline(time.Now().Add(patience))
	wantMessages(t, 10, func() (string, error) {
		n, _, err := c.ReadFrom(buf)
		return string(buf[:n]), err
	})
}

// readCounted reads a message preceded by its length.
func readCounted(r *bufio.Reader) (string, error) {
	length, err := r.ReadString(' ')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(length, " "))
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err
}

func TestSyslogStreamsCountOctetsAndReconnect(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			address := "127.0.0.1:0"
			if network == "unix" {
				address = filepath.Join(t.TempDir(), "log")
			}
			ln, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			a := newAppliance(t, toSyslog(network+"://"+ln.Addr().String()))
			a.put(nil)
			first, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			a.put(nil)
			_ = first.SetReadDeadline(time.Now().Add(patience))
			r := bufio.NewReader(first)
			wantMessages(t, 2, func() (string, error) { return readCounted(r) })
			_ = first.Close()
			accepted := make(chan net.Conn)
			go func() {
				c, _ := ln.Accept()
				accepted <- c
			}()
			var second net.Conn
			eventually(t, func() bool {
				a.put(nil)
				select {
				case second = <-accepted:
					return true
				case <-time.After(20 * time.Millisecond):
					return false
				}
			})
			defer second.Close()
			_ = second.SetReadDeadline(time.Now().Add(patience))
			r = bufio.NewReader(second)
			wantMessages(t, 1, func() (string, error) { return readCounted(r) })
		})
	}
}

func TestDeadSyslogTargetBlocksNoOther(t *testing.T) {
	cfg := toSyslog("tcp://" + enginetest.NewSilent(t).Addr)
	second := config(nil).Farms[0]
	second.ID, second.Name = 2, "file"
	cfg.Farms = append(cfg.Farms, second)
	a := newAppliance(t, cfg)
	for range 50 {
		a.put(nil)
		usual(&a.entry)
		a.entry.Farm = 2
		a.writer.Put(&a.entry)
	}
	a.lines("file.log", 50)
	eventually(t, func() bool { return a.pump.Stats().Failed == 50 })
}

func TestNonReadingTargetLosesLinesWithoutDelay(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() { // accepts the connection and reads nothing
		c, err := ln.Accept()
		if err == nil {
			defer c.Close()
			_, _ = io.Copy(io.Discard, io.LimitReader(c, 1))
			time.Sleep(3 * time.Second)
		}
	}()
	a := newAppliance(t, toSyslog("tcp://"+ln.Addr().String()))
	began := time.Now()
	for i := range 60_000 { // 40 MB: sockets and queue are full long before
		usual(&a.entry)
		for !a.writer.Put(&a.entry) {
			time.Sleep(100 * time.Microsecond)
		}
		if i%3000 == 0 && time.Since(began) > 20*time.Second {
			t.Fatal("the rings are not emptied")
		}
	}
	eventually(t, func() bool { return a.pump.Stats().Queue+a.pump.Stats().Failed > 1000 })
	began = time.Now()
	a.stop()
	if took := time.Since(began); took > closeTime+time.Second {
		t.Errorf("stopping took %v", took)
	}
	time.Sleep(2 * time.Second) // its goroutine ends on its own
}

func TestStandardOutputIsASink(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	a := newAppliance(t, &farm.Config{})
	a.stop()
	a.stdout = w
	a.cfg.Store(config(func(l *farm.AccessLog) { l.Sink = farm.LogStdout }))
	a.run()
	a.put(nil)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"time":`) {
		t.Errorf("%q, %v", line, err)
	}
}

// slow is an output that blocks until the test releases it.
type slow struct {
	let   chan struct{}
	mu    sync.Mutex
	lines int
}

func (o *slow) write(c *chunk) error {
	<-o.let
	o.mu.Lock()
	o.lines += len(c.ends)
	o.mu.Unlock()
	return nil
}
func (*slow) reopen() {}
func (*slow) close()  {}

func TestQueueIsBoundedAndDropsAreCounted(t *testing.T) {
	out := &slow{let: make(chan struct{})}
	var c counts
	acknowledged := uint64(0)
	var mu sync.Mutex
	s := newSink(target{}, out, &c, func(n uint64) { mu.Lock(); acknowledged += n; mu.Unlock() }, nil)
	const chunks = 2 * QueueChunks
	for range chunks {
		for range 10 {
			s.line().bytes = fmt.Appendf(s.line().bytes, "%s\n", strings.Repeat("x", chunkSize/10))
			s.added()
		}
	}
	s.flush()
	dropped := c.dropped.Load()
	if dropped < chunks*10/4 || dropped > chunks*10*3/4 {
		t.Errorf("%d of %d lines were dropped", dropped, chunks*10)
	}
	close(out.let)
	s.close()
	<-s.done
	if got := uint64(out.lines) + dropped; got != chunks*10 || c.written.Load() != uint64(out.lines) || acknowledged != chunks*10 {
		t.Errorf("%d written, %d dropped, %d acknowledged of %d", out.lines, dropped, acknowledged, chunks*10)
	}
}
