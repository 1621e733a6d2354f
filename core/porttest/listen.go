package porttest

import (
	"net"
	"testing"
)

// ListenBoth listens on a port of 127.0.0.1 for TCP and UDP. The kernel chooses a port that is free
// for one of them, so several attempts may be needed. The caller closes the sockets.
func ListenBoth(t testing.TB) (net.Listener, net.PacketConn) {
	t.Helper()
	for range 100 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if udp, err := net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			return tcp, udp
		}
		_ = tcp.Close()
	}
	t.Fatal("no port is free for both TCP and UDP")
	return nil, nil
}
