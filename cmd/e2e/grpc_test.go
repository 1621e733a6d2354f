package e2e_test

import (
	"context"
	"io"
	"net/url"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluicelb/sluice/l7/grpctest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// gRPC works through the built program: in cleartext, and with TLS on both sides, both set
// at run time by the command line.
func TestGRPCPassesAFarm(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	plain, _ := grpctest.Serve(t, false)
	front, err := url.Parse(a.farm("calls", plain))
	if err != nil {
		t.Fatal(err)
	}
	a.must("service", "set", "calls", "all", "backendprotocol=h2")
	calls(t, grpctest.Dial(t, front.Host, false))

	secure, _ := grpctest.Serve(t, true)
	leaf := certstest.NewAuthority(t, "root", time.Now()).Issue("a.test")
	a.must("certificate", "upload", "calls", readable(t, leaf.FullPEM()))
	front, err = url.Parse(a.farm("secured", secure))
	if err != nil {
		t.Fatal(err)
	}
	a.must("service", "set", "secured", "all", "backendprotocol=h2", "httpsb=true")
	a.must("farm", "set", "secured", "listener=https", "certificates=calls.pem")
	calls(t, grpctest.Dial(t, front.Host, true))
}

// calls makes one call of each kind.
func calls(t *testing.T, c *grpc.ClientConn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	in, out := make([]byte, 100_000), []byte(nil)
	var trailer metadata.MD
	if err := c.Invoke(metadata.AppendToOutgoingContext(ctx, "x-asked", "42"), "/t.T/Unary", &in, &out, grpc.Trailer(&trailer)); err != nil || len(out) != len(in) || trailer.Get(grpctest.LongName)[0] != "42" {
		t.Fatalf("unary: %d bytes, %v, %v", len(out), trailer, err)
	}
	if err := c.Invoke(ctx, "/t.T/Fail", &in, &out); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a status: %v", err)
	}
	for method, sends := range map[string]int{"Down": 1, "Up": 300, "Both": 300} {
		s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/t.T/"+method)
		if err != nil {
			t.Fatal(method, err)
		}
		go func() {
			m := []byte(strconv.Itoa(300))
			for range sends {
				_ = s.SendMsg(&m)
			}
			_ = s.CloseSend()
		}()
		n := 0
		for err = s.RecvMsg(&out); err == nil; err = s.RecvMsg(&out) {
			n++
		}
		if want := map[string]int{"Down": 300, "Up": 1, "Both": 300}[method]; err != io.EOF || n != want {
			t.Errorf("%s: %d messages, %v", method, n, err)
		}
	}
}
