package grpctest_test

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/grpctest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// grpcPaths runs a gRPC test through the appliance, with TLS on both sides and without.
func grpcPaths(t *testing.T, test func(t *testing.T, a *l7test.Appliance, c *grpc.ClientConn, g *grpctest.Service)) {
	for name, secure := range map[string]bool{"tls": true, "clear": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend, g := grpctest.Serve(t, secure)
			a := l7test.New(t, 2)
			with := func(*farm.HTTP) {}
			if secure {
				certificate := l7test.Certificate(t, "ec.pem", "a.test")
				a.Certificates = []farm.Certificate{certificate}
				with = func(h *farm.HTTP) { h.TLS = &farm.TLS{Certificates: []string{certificate.Name}} }
			}
			test(t, a, grpctest.Dial(t, a.Serve(with, service(secure, backend)), secure), g)
		})
	}
}

// service returns a service with a gRPC server as its backend.
func service(secure bool, addr string) farm.Service {
	s := l7test.Service("calls", addr)
	s.BackendProtocol = farm.BackendHTTP2
	if secure {
		s.TLS = &farm.BackendTLS{}
	}
	return s
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// stream begins a call of any kind.
func stream(t *testing.T, ctx context.Context, c *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/t.T/"+method)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(t *testing.T, s grpc.ClientStream, m []byte) {
	t.Helper()
	if err := s.SendMsg(&m); err != nil {
		t.Fatal(err, s.RecvMsg(&m))
	}
}

func TestGRPCUnaryCallsOfEverySize(t *testing.T) {
	t.Parallel()
	grpcPaths(t, func(t *testing.T, a *l7test.Appliance, c *grpc.ClientConn, _ *grpctest.Service) {
		for _, size := range []int{0, 1, 1000, 100_000, 20 << 20} {
			in, out := bytes.Repeat([]byte{7}, size), []byte(nil)
			var trailer metadata.MD
			ctx := metadata.AppendToOutgoingContext(limited(t), "x-asked", strconv.Itoa(size))
			if err := c.Invoke(ctx, "/t.T/Unary", &in, &out, grpc.Trailer(&trailer)); err != nil || !bytes.Equal(in, out) {
				t.Fatalf("%d: %d bytes, %v", size, len(out), err)
			}
			if got := trailer.Get(grpctest.LongName); len(got) != 1 || got[0] != strconv.Itoa(size) || trailer.Get("x-bin")[0] != "b" {
				t.Errorf("%d: trailers %v", size, trailer)
			}
		}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				in, out := bytes.Repeat([]byte{byte(i)}, i*100), []byte(nil)
				for range 20 {
					if err := c.Invoke(limited(t), "/t.T/Unary", &in, &out); err != nil || !bytes.Equal(in, out) {
						t.Errorf("%d: %d bytes, %v", i, len(out), err)
						return
					}
				}
			}()
		}
		wg.Wait()
		l7test.Eventually(t, "nothing is under way", func() bool { return a.Segment.SumBackend(1).Established == 0 })
		if n := a.Segment.SumBackend(1); n.Requests != 1005 || n.Connects > 2 || n.Established != 0 {
			t.Errorf("counted %+v", n)
		}
	})
}

func TestGRPCStreamsInEveryDirection(t *testing.T) {
	t.Parallel()
	grpcPaths(t, func(t *testing.T, _ *l7test.Appliance, c *grpc.ClientConn, _ *grpctest.Service) {
		var m []byte
		down := stream(t, limited(t), c, "Down")
		send(t, down, []byte("2000"))
		_ = down.CloseSend()
		for i := range 2000 {
			if err := down.RecvMsg(&m); err != nil || len(m) != i%5000 || i%5000 > 0 && m[0] != byte(i) {
				t.Fatalf("message %d: %d bytes, %v", i, len(m), err)
			}
		}
		if err := down.RecvMsg(&m); err != io.EOF {
			t.Fatal(err)
		}

		up := stream(t, limited(t), c, "Up")
		for range 3000 {
			send(t, up, make([]byte, 1000))
		}
		_ = up.CloseSend()
		if err := up.RecvMsg(&m); err != nil || string(m) != "3000000" {
			t.Fatalf("%q, %v", m, err)
		}

		both := stream(t, limited(t), c, "Both")
		for i := range 200 {
			send(t, both, []byte(strconv.Itoa(i)))
			if err := both.RecvMsg(&m); err != nil || string(m) != strconv.Itoa(i) {
				t.Fatalf("%d: %q, %v", i, m, err)
			}
		}
		_ = both.CloseSend()
		if err := both.RecvMsg(&m); err != io.EOF {
			t.Fatal(err)
		}
	})
}

// Flow control must stop a client that sends without receiving: the echo is not read, so the
// server stops reading, too.
func TestGRPCBackPressureGoesThroughBothSides(t *testing.T) {
	t.Parallel()
	grpcPaths(t, func(t *testing.T, _ *l7test.Appliance, c *grpc.ClientConn, _ *grpctest.Service) {
		both := stream(t, limited(t), c, "Both")
		sent := make(chan int, 1000)
		m := make([]byte, 100_000)
		go func() {
			defer close(sent)
			for i := range 200 {
				if both.SendMsg(&m) != nil {
					return
				}
				sent <- i
			}
			_ = both.CloseSend()
		}()
		n := 0
		for quiet := false; !quiet; {
			select {
			case <-sent:
				n++
			case <-time.After(time.Second):
				quiet = true
			}
		}
		if n > 100 {
			t.Fatalf("%d messages of 100 kB were sent without a receiver", n)
		}
		other, out := []byte("x"), []byte(nil)
		if err := c.Invoke(limited(t), "/t.T/Unary", &other, &out); err != nil || string(out) != "x" {
			t.Fatalf("another call meanwhile: %q, %v", out, err)
		}
		got := 0
		for ; both.RecvMsg(&out) == nil; got += len(out) {
		}
		if got != 200*len(m) {
			t.Fatalf("%d bytes were echoed", got)
		}
	})
}

func TestGRPCStatusesArriveWithTheirMetadata(t *testing.T) {
	t.Parallel()
	grpcPaths(t, func(t *testing.T, _ *l7test.Appliance, c *grpc.ClientConn, _ *grpctest.Service) {
		var trailer metadata.MD
		in, out := []byte("x"), []byte(nil)
		err := c.Invoke(limited(t), "/t.T/Fail", &in, &out, grpc.Trailer(&trailer))
		if s := status.Convert(err); s.Code() != codes.FailedPrecondition || s.Message() != "not now: 100% no" || len(trailer.Get("x-why")) != 1 {
			t.Errorf("%v, %v", err, trailer)
		}
		if err := c.Invoke(limited(t), "/t.T/Nothing", &in, &out); status.Code(err) != codes.Unimplemented {
			t.Error(err)
		}
		late := stream(t, limited(t), c, "FailLate")
		if err := late.RecvMsg(&out); err != nil || string(out) != "some" {
			t.Errorf("%q, %v", out, err)
		}
		if err := late.RecvMsg(&out); status.Code(err) != codes.DataLoss {
			t.Error(err)
		}
	})
}

func TestGRPCCancelAndDeadlineReachTheBackend(t *testing.T) {
	t.Parallel()
	grpcPaths(t, func(t *testing.T, a *l7test.Appliance, c *grpc.ClientConn, g *grpctest.Service) {
		ctx, cancel := context.WithCancel(limited(t))
		s := stream(t, ctx, c, "Hang")
		send(t, s, []byte("x"))
		<-g.Hung
		cancel()
		if err := <-g.Canceled; err != context.Canceled {
			t.Error(err)
		}
		ctx, cancel = context.WithTimeout(limited(t), 300*time.Millisecond)
		defer cancel()
		in, out := []byte("x"), []byte(nil)
		// The backend gets the deadline, too. If it ends the call first, the result is
		// Unavailable.
		if err := c.Invoke(ctx, "/t.T/Hang", &in, &out); status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		select {
		case <-g.Canceled:
		case <-time.After(5 * time.Second):
			t.Error("the backend continues after the deadline")
		}
		if err := c.Invoke(limited(t), "/t.T/Unary", &in, &out); err != nil || string(out) != "x" {
			t.Errorf("afterwards %q, %v", out, err)
		}
		l7test.Eventually(t, "nothing is under way", func() bool { return a.Segment.SumBackend(1).Established == 0 })
		if n := a.Segment.SumBackend(1); n.Connects > 2 || n.Established != 0 {
			t.Errorf("counted %+v", n)
		}
	})
}

func TestGRPCCallsFailWhenTheBackendIsGone(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	c := grpctest.Dial(t, a.Serve(nil, service(false, enginetest.NewSilent(t).Addr)), false)
	in, out := []byte("x"), []byte(nil)
	if err := c.Invoke(limited(t), "/t.T/Unary", &in, &out); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}
