package e2e_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// scanner answers SANE_NET_START with the port it sends the picture by (SANE
// standard §5.2), and everything else that is asked with zeroes.
func scanner(m *housetest.Machine, port uint16) {
	l := m.Listen("tcp", "[::]:6566")
	data := m.Listen("tcp", fmt.Sprintf("[::]:%d", port))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for b := make([]byte, 8); ; {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					answer := make([]byte, 16)
					if binary.BigEndian.Uint32(b) == 7 {
						binary.BigEndian.PutUint16(answer[6:], port)
					}
					_, _ = c.Write(answer)
				}
			}()
		}
	}()
	go func() {
		for {
			c, err := data.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "picture of "+m.Name)
			_ = c.Close()
		}
	}()
}

func scan(n *housetest.Namespace, vip netip.Addr) (string, error) {
	c, err := n.DialWith(context.Background(), &net.Dialer{Timeout: 5 * time.Second}, "tcp", netip.AddrPortFrom(vip, 6566).String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	answer := make([]byte, 16)
	for _, code := range []byte{0, 7} { // both ways, before the helper looks
		if _, err := c.Write([]byte{0, 0, 0, code, 0, 0, 0, 1}); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			return "", err
		}
	}
	d, err := n.DialWith(context.Background(), &net.Dialer{Timeout: 5 * time.Second}, "tcp", netip.AddrPortFrom(vip, binary.BigEndian.Uint16(answer[6:])).String())
	if err != nil {
		return "", fmt.Errorf("the data: %w", err)
	}
	defer d.Close()
	picture, err := io.ReadAll(d)
	return string(picture), err
}

func TestScannersSendTheirPicturesThrough(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	yaml := "farms:\n"
	var vips []netip.Addr
	for i, nat := range []string{"nat", "dnat"} {
		v4, v6 := s.VIP(200 + i)
		for j, vip := range []string{v4, v6} {
			backends := [2]string{s.Backends[0].V4, s.Backends[1].V4}
			if j == 1 {
				backends = [2]string{s.Backends[0].V6, s.Backends[1].V6}
			}
			yaml += fmt.Sprintf("- {name: f%d%d, profile: l4xnat, vip: %q, vport: 6566, protocol: sane, nattype: %s, algorithm: roundrobin, backends: [{ip: %q, port: 6566}, {ip: %q}]}\n", i, j, vip, nat, backends[0], backends[1])
			vips = append(vips, netip.MustParseAddr(vip))
		}
	}
	for _, b := range s.Backends {
		scanner(b, 30001)
	}
	installed(t, s, "--config", file(t, yaml))
	for _, vip := range vips {
		got := map[string]int{}
		for range 4 {
			picture, err := scan(s.Client, vip)
			if err != nil {
				t.Errorf("%s: %v", vip, err)
			}
			got[picture]++
		}
		if got["picture of b1"] != 2 || got["picture of b2"] != 2 {
			t.Errorf("%s: %v", vip, got)
		}
	}
}
