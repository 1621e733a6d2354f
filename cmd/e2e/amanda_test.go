package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// backedUp replies to requests of an Amanda server with its data ports, where it sends its
// name.
func backedUp(m *housetest.Machine) {
	c := m.ListenPacket("udp", m.V4+":10080")
	go func() {
		for b := make([]byte, 2000); ; {
			_, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte("Amanda 2.4 REP HANDLE 000-0 SEQ 1\nCONNECT DATA 30011 MESG 30012 INDEX 30013\n"), from)
		}
	}()
	for port := 30011; port <= 30013; port++ {
		l := m.Listen("tcp", fmt.Sprintf("%s:%d", m.V4, port))
		each(l, func(c net.Conn) { _, _ = io.WriteString(c, m.Name) })
	}
}

func TestAmandaBackupPassesAFarm(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	for _, b := range s.Backends {
		backedUp(b)
	}
	for _, vip := range bothNATs(t, s, 10080, "amanda") {
		got := map[string]int{}
		for range 4 {
			ask, err := s.Client.Dial(t.Context(), "udp", vip+":10080")
			if err != nil {
				t.Fatal(err)
			}
			_ = ask.SetDeadline(time.Now().Add(2 * time.Second))
			_, _ = io.WriteString(ask, "Amanda 2.4 REQ HANDLE 000-0 SEQ 1\n")
			if _, err := ask.Read(make([]byte, 2000)); err != nil {
				t.Fatalf("%s: %v", vip, err)
			}
			for port := 30011; port <= 30013; port++ {
				c, err := s.Client.DialWith(context.Background(), &net.Dialer{Timeout: 2 * time.Second}, "tcp", fmt.Sprintf("%s:%d", vip, port))
				if err != nil {
					t.Errorf("%s: %v", vip, err)
					continue
				}
				who, _ := io.ReadAll(c)
				got[string(who)]++
				_ = c.Close()
			}
			_ = ask.Close()
		}
		if got["b1"] != 6 || got["b2"] != 6 {
			t.Errorf("%s: %v", vip, got)
		}
	}
}
