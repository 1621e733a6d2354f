package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/dns/server"
)

// dial connects to the farm by TCP until the test ends.
func (a *appliance) dial() net.Conn {
	a.t.Helper()
	c, err := net.Dial("tcp", a.farm.AddrPort().String())
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func framed(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)
}

func TestTCPQueriesArriveInAnyPieces(t *testing.T) {
	a := newAppliance(t, 1, example())
	c := a.dial()
	one := framed(query(t, "www.example.com A"))
	for _, b := range one {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, message(t, c)); len(got.answer) != 2 {
		t.Errorf("in pieces: %q", got.answer)
	}
	many := []byte{}
	for range 500 {
		many = append(many, one...)
	}
	many = append(many, one[:10]...)
	go func() {
		_, _ = c.Write(many)
		_, _ = c.Write(one[10:])
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	for i := range 501 {
		if got := read(t, message(t, c)); len(got.answer) != 2 {
			t.Fatalf("answer %d: %q", i, got.answer)
		}
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after all: %d bytes, %v", n, err)
	}
}

func TestNonReadingTCPClientIsBounded(t *testing.T) {
	a := newAppliance(t, 1, example())
	c := a.dial()
	_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
	big := bytes.Repeat(framed(query(t, "big.example.com TXT")), 1000)
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	sent := 0
	for range 1000 {
		n, err := c.Write(big)
		if sent += n; err != nil {
			break
		}
	}
	if sent == 1000*len(big) {
		t.Fatal("the server reads queries without limit")
	}
	for range 3000 { // it continues where it stopped
		if got := read(t, message(t, c)); len(got.answer) != 1 {
			t.Fatalf("%q", got.answer)
		}
	}
}

func TestInvalidTCPMessagesEndTheConnection(t *testing.T) {
	a := newAppliance(t, 1, example())
	for name, bytes := range map[string][]byte{"an answer": framed([]byte("\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00")), "too short": framed([]byte("ab")), "empty": {0, 0}} {
		c := a.dial()
		_, _ = c.Write(bytes)
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	c := a.dial()
	_, _ = c.Write(framed([]byte("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00")))
	if got := message(t, c); got[3]&0xf != 1 || len(got) != 12 {
		t.Errorf("two questions: %x", got)
	}
	enginetest.Eventually(t, "connections are counted", func() bool { return a.Segment.SumFarm(7).Established <= 1 })
}

func TestConnectionsAreBoundedAndSilentOnesEnd(t *testing.T) {
	g := example()
	g.MaxConnections = 3
	a := newAppliance(t, 2, g)
	var open []net.Conn
	for range 3 {
		c := a.dial()
		_, _ = c.Write(framed(query(t, "www.example.com A")))
		message(t, c)
		open = append(open, c)
	}
	if c, err := net.Dial("tcp", a.farm.AddrPort().String()); err == nil { // it may be closed at once
		_, _ = c.Write(framed(query(t, "www.example.com A")))
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("the fourth: %d bytes", n)
		}
		_ = c.Close()
	}
	for _, c := range open { // none was closed: all sent a query recently
		_, _ = c.Write(framed(query(t, "www.example.com A")))
		message(t, c)
	}
	_ = open[0].Close()
	enginetest.Eventually(t, "there is room again", func() bool { return a.Segment.SumFarm(7).Established == 2 })
	a.ask("www.example.com A", true)
	// Single bytes are no query: the connection is closed anyway.
	_, _ = open[1].Write([]byte{0})
	for _, l := range a.Loops {
		enginetest.Advance(l, 11*time.Second)
	}
	for _, c := range open[1:] {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a silent client is kept")
		}
	}
	enginetest.Eventually(t, "nobody is left", func() bool { return a.Segment.SumFarm(7).Established == 0 })
}

// transferred returns a zone's records as a secondary receives them.
func (a *appliance) transferred(zone string) (list []string) {
	a.t.Helper()
	c := a.dial()
	_, _ = c.Write(framed(query(a.t, zone+" AXFR")))
	for soas := 0; soas < 2; {
		got := read(a.t, message(a.t, c))
		if got.rcode() != 0 || len(got.answer) == 0 {
			a.t.Fatalf("%d messages' records, then flags %x", len(list), got.flags)
		}
		for _, r := range got.answer {
			if strings.Contains(r, " SOA ") {
				soas++
			}
		}
		list = append(list, got.answer...)
	}
	return list
}

func TestZonesAreCopiedToSecondariesOnly(t *testing.T) {
	g := example()
	for i := range 3000 {
		g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{Name: fmt.Sprintf("host%d", i), Type: "A", Data: "192.0.2.1"})
	}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	if got := a.ask("example.com AXFR", true); got.rcode() != 5 {
		t.Errorf("without permission: %x", got.flags)
	}
	g.Transfers = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	a.publish(a.farm)
	list := a.transferred("example.com")
	if want := len(g.Zones[0].Records) + 2 + 2; len(list) != want || // SOA twice, and three addresses of a service
		list[0] != list[len(list)-1] || !strings.Contains(list[0], " SOA ") {
		t.Errorf("%d records, want %d, from %q to %q", len(list), want, list[0], list[len(list)-1])
	}
	all := strings.Join(list, "\n")
	for _, want := range []string{
		"example.com. 3600 IN MX 10 mail.example.com.", "*.wild.example.com. 3600 IN A 192.0.2.30", "ns.sub.example.com. 3600 IN A 192.0.2.50",
		"shop.example.com. 30 IN A 192.0.2.100", "shop.example.com. 30 IN AAAA 2001:db8::100", "host2999.example.com. 3600 IN A 192.0.2.1",
	} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%d times %s", strings.Count(all, want), want)
		}
	}
	if strings.Contains(all, "child.example.com") {
		t.Error("another zone came with it")
	}
	for question, tcp := range map[string]bool{"example.com AXFR": false, "www.example.com AXFR": true, "example.org AXFR": true} {
		if got := a.ask(question, tcp); got.rcode() != 5 {
			t.Errorf("%s by tcp %v: %x", question, tcp, got.flags)
		}
	}
	if got := a.ask("www.example.com A", true); len(got.answer) != 2 {
		t.Errorf("after transfers: %q", got.answer)
	}
}

// dig is an independent client.
func TestDigGetsAZoneOnlyWhenItIsNewer(t *testing.T) {
	dig := installed(t, "dig")
	g := example()
	g.Transfers = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	all := len(g.Zones[0].Records) + 2 + 1
	for question, want := range map[string]int{"AXFR": all, "IXFR=4": all + 1, // dig shows both SOA records
		"IXFR=5": 1, "IXFR=6": 1} {
		out, err := exec.Command(dig, "@127.0.0.1", "-p", fmt.Sprint(a.farm.VPort), "+onesoa", "+noall", "+answer", "+nocomments", "example.com", question).CombinedOutput()
		if got := strings.Count(strings.TrimSpace(string(out)), "\n") + 1; err != nil || got != want {
			t.Errorf("%s: %d lines, want %d: %v\n%s", question, got, want, err, out)
		}
	}
}

// Idle connections cannot block other clients.
func TestLongestIdleConnectionMakesRoom(t *testing.T) {
	g := example()
	g.MaxConnections = 3
	a := newAppliance(t, 1, g)
	var open []net.Conn
	for range 3 {
		c := a.dial()
		_, _ = c.Write(framed(query(t, "www.example.com A")))
		message(t, c)
		open = append(open, c)
	}
	enginetest.Advance(a.Loops[0], 1500*time.Millisecond)
	_, _ = open[0].Write(framed(query(t, "www.example.com A")))
	message(t, open[0])
	for range 2 {
		if got := a.ask("www.example.com A", true); len(got.answer) != 2 {
			t.Fatalf("%q", got.answer)
		}
		enginetest.Eventually(t, "who asked is gone", func() bool { return a.Segment.SumFarm(7).Established == 2 })
	}
	if _, err := open[1].Read(make([]byte, 1)); err == nil {
		t.Error("the client that was silent for longest was kept")
	}
	for _, c := range []net.Conn{open[0], open[2]} {
		_, _ = c.Write(framed(query(t, "www.example.com A")))
		message(t, c)
	}
	if n := a.Segment.SumFarm(7).Evicted; n != 1 {
		t.Errorf("%d made room", n)
	}
	for _, c := range open { // closed connections are no longer checked
		_ = c.Close()
	}
	enginetest.Eventually(t, "all are gone", func() bool { return a.Segment.SumFarm(7).Established == 0 })
	for range 3 {
		c := a.dial()
		_, _ = c.Write(framed(query(t, "www.example.com A")))
		message(t, c)
	}
	enginetest.Advance(a.Loops[0], 1500*time.Millisecond)
	if got := a.ask("www.example.com A", true); len(got.answer) != 2 || a.Segment.SumFarm(7).Evicted != 2 {
		t.Errorf("%q, %d made room", got.answer, a.Segment.SumFarm(7).Evicted)
	}
}

// A transfer does not starve other connections.
func TestTransferSharesLoopTurns(t *testing.T) {
	g := example()
	for i := range 60_000 {
		g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{Name: fmt.Sprintf("host%d", i), Type: "A", Data: "192.0.2.1"})
	}
	g.Transfers = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	turns := watchTurns(t, a)
	if list := a.transferred("example.com"); len(list) < 60_000 {
		t.Errorf("%d records", len(list))
	}
	if most := turns.stop(); most == 0 || most > server.MostPerTurn {
		t.Errorf("%d bytes in a turn, at most %d", most, server.MostPerTurn)
	}
}

// turns records what the farm sent in each turn of the first loop.
type turns struct {
	a            *appliance
	before, most uint64
	over         bool
	looks        chan struct{} // closed when it starts
}

// watchTurns uses its own connection on the loop, which is always readable.
func watchTurns(t *testing.T, a *appliance) *turns {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	w := &turns{a: a, looks: make(chan struct{})}
	a.Loops[0].Post(func() {
		if _, err := a.Loops[0].Dial(netip.MustParseAddrPort(ln.Addr().String()), w, int64(time.Second), loop.DialOptions{}); err != nil {
			t.Error(err)
		}
	})
	<-w.looks
	return w
}

func (w *turns) stop() (most uint64) {
	w.a.Loops[0].Post(func() { w.over, most = true, w.most })
	w.a.Turn()
	return most
}

func (w *turns) Connected(c *loop.Conn, err error) {
	close(w.looks)
	if err == nil {
		w.Readable(c)
	}
}

func (w *turns) Readable(c *loop.Conn) {
	now := w.a.Segment.Shard(0).Farm(7).BytesOut
	w.most, w.before = max(w.most, now-w.before), now
	if w.over {
		c.Close()
		return
	}
	w.a.Loops[0].Again(c)
}

func (w *turns) Drained(*loop.Conn)       {}
func (w *turns) Expired(*loop.Conn)       {}
func (w *turns) Failed(*loop.Conn, error) {}

// Compression pointers only reach the first 16 KiB.
func TestLongTCPAnswersAreComplete(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 50)
	list := records("x A 192.0.2.1")
	for i := range 200 {
		host := fmt.Sprintf("h%d.%s", i, long)
		list = append(list, farm.Record{Name: "many", Type: "MX", Data: fmt.Sprintf("%d %s", i, host)}, farm.Record{Name: host, Type: "A", Data: "192.0.2.2"})
	}
	list = append(list, farm.Record{Name: "dyna." + long, Type: farm.RecordDYNA, Data: "shop"})
	g := &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", Records: list}}, Services: example().Services, Transfers: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	got := a.ask("many.example.com MX", true)
	if len(got.answer) != 200 || len(got.additional) == 0 || got.flags&flagTC != 0 {
		t.Errorf("%d answers, %d besides", len(got.answer), len(got.additional))
	}
	for _, r := range got.additional {
		if !strings.HasPrefix(r, "h") || !strings.HasSuffix(r, ".example.com. 3600 IN A 192.0.2.2") {
			t.Fatalf("%q", r)
		}
	}
	if all := strings.Join(a.transferred("example.com"), "\n"); strings.Count(all, "dyna.") != 3 {
		t.Errorf("%d addresses of a service whose name is long", strings.Count(all, "dyna."))
	}
}
