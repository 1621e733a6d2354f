package supervisor

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// accepts reports whether an address accepts connections.
func accepts(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

func TestTheListenerOfTheAPIIsReplaced(t *testing.T) {
	l, err := listenAPI("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	start := l.Addr().(*net.TCPAddr).AddrPort()
	s := &supervisor{sockets: &sockets{apiFile: file, apiStart: start.String()}, manager: &runner{files: map[string]*os.File{"api": file}}}
	defer s.sockets.close()

	// All addresses on the same port, while the previous listener is still open in mgmt.
	all, err := s.ListenAPI(netip.AddrPortFrom(netip.IPv4Unspecified(), start.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	if s.manager.files["api"] != all || s.sockets.apiFile != all {
		t.Error("the next lives of mgmt get another one")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if other := "127.0.0.2:" + strings.Split(start.String(), ":")[1]; !accepts(start.String()) || !accepts(other) {
		t.Errorf("it is not reached on %s and %s", start, other)
	}
	if c, err := net.Listen("tcp", start.String()); err == nil {
		_ = c.Close()
		t.Error("other processes can use the port, too")
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for address, want := range map[string]string{
		busy.Addr().String(): "another program uses this port", "192.0.2.77:4444": "no interface of this machine has that address",
		"x": "is no address to listen on", "127.0.0.1:0": "is no address to listen on", ":444": "is no address to listen on",
	} {
		if f, err := s.ListenAPI(address); f != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	if s.sockets.apiFile != all || !accepts(start.String()) {
		t.Error("a refused address changed the listener")
	}
	back, err := s.ListenAPI("")
	if err != nil || back == all || !accepts(start.String()) {
		t.Errorf("back at the initial address: %v", err)
	}
	if accepts("127.0.0.2:" + strings.Split(start.String(), ":")[1]) {
		t.Error("the one before is open")
	}
}

func TestAddressesAreOpenedInTheirFamilies(t *testing.T) {
	for text, want := range map[string]string{"[::]:444": ":444", "0.0.0.0:444": "0.0.0.0:444", "[::1]:444": "[::1]:444"} {
		if got := listenText(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s is opened as %s, want %s", text, got, want)
		}
	}
}

func TestUnknownHostRequestsAreRefused(t *testing.T) {
	s := &supervisor{}
	if answer, err := s.HostRequest(t.Context(), "sudo", nil); answer != nil || err == nil || err.Error() != `there are no requests about "sudo"` {
		t.Errorf("%s, %v", answer, err)
	}
	if os.Geteuid() != 0 {
		if _, err := s.HostRequest(t.Context(), "dns", nil); err != errNotRoot {
			t.Error(err)
		}
	}
}

// Excessive output is refused.
func TestHostAnswersAreBounded(t *testing.T) {
	b := bounded{most: 4}
	for _, c := range []struct {
		text string
		ok   bool
	}{{"abc", true}, {"de", false}, {"d", true}, {"e", false}} {
		if _, err := b.Write([]byte(c.text)); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	if b.text.String() != "abcd" {
		t.Error(b.text.String())
	}
	if _, is := any(&b).(io.ReaderFrom); is {
		t.Error("there is a way around the bound")
	}
}
