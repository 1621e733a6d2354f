package e2e_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// ircUser is a user registered with an IRC server (RFC 2812).
type ircUser struct {
	t *testing.T
	net.Conn
	lines *bufio.Reader
}

// joins registers a user with the server at that address.
func joins(t *testing.T, n *housetest.Namespace, server, name string) *ircUser {
	t.Helper()
	c, err := n.Dial(t.Context(), "tcp", server+":6667")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	u := &ircUser{t, c, bufio.NewReader(c)}
	fmt.Fprintf(c, "NICK %s\r\nUSER %s 0 * :%s\r\n", name, name, name)
	u.hears(" 001 ")
	return u
}

// hears returns the next line that contains what.
func (u *ircUser) hears(what string) string {
	u.t.Helper()
	for {
		line, err := u.lines.ReadString('\n')
		if err != nil {
			u.t.Fatalf("no line with %q: %v", what, err)
		}
		if asked, is := strings.CutPrefix(line, "PING"); is {
			fmt.Fprint(u, "PONG"+asked)
		}
		if strings.Contains(line, what) {
			return line
		}
	}
}

// A file is offered by DCC, which contains an address and port of the client as text. The
// recipient connects there, here from the server's side.
func TestIRCFileOffersPassAFarm(t *testing.T) {
	t.Parallel()
	needs(t, "ngircd")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	var receivers []*ircUser
	for _, b := range s.Backends {
		conf := file(t, "[Global]\nName = "+b.Name+".test\nInfo = "+b.Name+"\nListen = "+b.V4+"\nPorts = 6667\nServerUID = nobody\nServerGID = nogroup\n[Limits]\nMaxConnectionsIP = 0\n[Options]\nDNS = no\nIdent = no\nPAM = no\n")
		b.Serve("ngircd", "-n", "-f", conf)
		listens(t, b, 6667)
		receivers = append(receivers, joins(t, b.Namespace, b.V4, "bob"))
	}
	vips := bothNATs(t, s, 6667, "irc")
	each(s.Client.Listen("tcp", "10.10.1.2:4000"), func(c net.Conn) { _, _ = io.WriteString(c, "the file") })
	own := netip.MustParseAddr("10.10.1.2").As4()
	for vip, named := range map[string]string{vips[0]: housetest.ApplianceBack4, vips[1]: "10.10.1.2"} {
		for i, backend := range s.Backends {
			alice := joins(t, s.Client, vip, fmt.Sprintf("al%c%d", vip[len(vip)-1], i))
			fmt.Fprintf(alice, "VERSION\r\n")
			if line := alice.hears(" 351 "); !strings.Contains(line, backend.Name+".test") {
				t.Errorf("%s: in turn: %s", vip, line)
			}
			fmt.Fprintf(alice, "PRIVMSG bob :\x01DCC SEND file %d 4000 8\x01\r\n", binary.BigEndian.Uint32(own[:]))
			offer := receivers[i].hears("DCC SEND")
			var number uint32
			var port uint16
			if _, err := fmt.Sscanf(offer[strings.Index(offer, "DCC"):], "DCC SEND file %d %d", &number, &port); err != nil {
				t.Fatalf("%q: %v", offer, err)
			}
			address := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number)))
			if address.String() != named {
				t.Errorf("%s: the offer names %s, want %s", vip, address, named)
			}
			got, err := backend.Dial(t.Context(), "tcp", netip.AddrPortFrom(address, port).String())
			if err != nil {
				t.Errorf("%s: the file is not got: %v", vip, err)
				continue
			}
			text, err := io.ReadAll(got)
			if string(text) != "the file" {
				t.Errorf("%s: the file is %q, %v", vip, text, err)
			}
			_ = got.Close()
		}
	}
}
