package e2e_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// A file is offered by DCC, which names an address and port of the client in
// text: the backend's side connects there.
func TestIRCOffersOfFilesGoThrough(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	masqueraded, _ := s.VIP(200)
	plain, _ := s.VIP(201)
	offers := make(chan string, 10)
	for _, b := range s.Backends {
		l := b.Listen("tcp", b.V4+":6667")
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, ":server NOTICE * :hello\r\n")
				line, _ := bufio.NewReader(c).ReadString('\n')
				offers <- b.Name + " " + strings.TrimSpace(line)
			}
		}()
	}
	installed(t, s, "--config", file(t, fmt.Sprintf(`farms:
- {name: masqueraded, profile: l4xnat, vip: %s, vport: 6667, protocol: irc, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
- {name: plain, profile: l4xnat, vip: %s, vport: 6667, protocol: irc, nattype: dnat, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
`, masqueraded, plain)))
	files := s.Client.Listen("tcp", "10.10.1.2:4000")
	go func() {
		for {
			c, err := files.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "the file")
			_ = c.Close()
		}
	}()
	for vip, named := range map[string]string{masqueraded: housetest.ApplianceBack4, plain: "10.10.1.2"} {
		for range 2 {
			c, err := s.Client.Dial(t.Context(), "tcp", vip+":6667")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			own := netip.MustParseAddr("10.10.1.2").As4()
			fmt.Fprintf(c, "PRIVMSG you :\x01DCC SEND file %d 4000 8\x01\r\n", binary.BigEndian.Uint32(own[:]))
			offer := <-offers
			var name, address string
			var number uint32
			var port uint16
			name, rest, _ := strings.Cut(offer, " ")
			if _, err := fmt.Sscanf(rest[strings.Index(rest, "DCC"):], "DCC SEND file %d %d", &number, &port); err != nil {
				t.Fatalf("%q: %v", offer, err)
			}
			address = netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number))).String()
			if address != named {
				t.Errorf("%s: the offer names %s, not %s", vip, address, named)
			}
			backend := s.Backends[0]
			if name == s.Backends[1].Name {
				backend = s.Backends[1]
			}
			got, err := backend.Dial(t.Context(), "tcp", netip.AddrPortFrom(netip.MustParseAddr(address), port).String())
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
