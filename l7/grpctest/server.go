// Package grpctest provides a gRPC server and client for tests, with gRPC's own library.
// Messages are bytes, without generated code.
package grpctest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluicelb/sluice/l7/l7test"
)

// Codec sends and receives *[]byte unchanged, without generated code.
type Codec struct{}

func (Codec) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (Codec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = bytes.Clone(b); return nil }
func (Codec) Name() string                    { return "raw" }

// LongName is longer than usual trailer names.
const LongName = "x-metadata-with-quite-a-long-name-for-a-field"

// Service serves all kinds of calls. The last part of the method name selects one: Unary,
// Down (that many messages), Up (counts bytes), Both (echo), Fail and FailLate (a status),
// Hang (until the call is cancelled).
type Service struct {
	Hung     chan struct{} // receives a value for each call of Hang
	Canceled chan error    // and the reason for its end
}

// Dial connects to a server, with TLS but without verification if secure.
func Dial(t testing.TB, addr string, secure bool) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, ServerName: "a.test"})
	}
	const most = 64 << 20
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds), grpc.WithAuthority("a.test"), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(Codec{}), grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (g *Service) handle(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	var m []byte
	switch method {
	case "/t.T/Unary":
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(s.Context())
		s.SetTrailer(metadata.Pairs(LongName, strings.Join(md.Get("x-asked"), ","), "x-bin", "b"))
		return s.SendMsg(&m)
	case "/t.T/Down":
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		n, _ := strconv.Atoi(string(m))
		for i := range n {
			out := bytes.Repeat([]byte{byte(i)}, i%5000)
			if err := s.SendMsg(&out); err != nil {
				return err
			}
		}
		return nil
	case "/t.T/Up":
		total := 0
		for s.RecvMsg(&m) == nil {
			total += len(m)
		}
		out := []byte(strconv.Itoa(total))
		return s.SendMsg(&out)
	case "/t.T/Both":
		for {
			if err := s.RecvMsg(&m); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := s.SendMsg(&m); err != nil {
				return err
			}
		}
	case "/t.T/Fail":
		s.SetTrailer(metadata.Pairs("x-why", "because"))
		return status.Error(codes.FailedPrecondition, "not now: 100% no")
	case "/t.T/FailLate":
		out := []byte("some")
		_ = s.SendMsg(&out)
		return status.Error(codes.DataLoss, "gone")
	case "/t.T/Hang":
		g.Hung <- struct{}{}
		<-s.Context().Done()
		g.Canceled <- s.Context().Err()
		return s.Context().Err()
	}
	return status.Error(codes.Unimplemented, method)
}

// Serve starts a server, with TLS and a self-signed certificate if secure, and returns its
// address. It stops with the test.
func Serve(t testing.TB, secure bool) (addr string, g *Service) {
	t.Helper()
	g = &Service{Hung: make(chan struct{}, 1000), Canceled: make(chan error, 1000)}
	o := []grpc.ServerOption{grpc.ForceServerCodec(Codec{}), grpc.UnknownServiceHandler(g.handle), grpc.MaxRecvMsgSize(64 << 20)}
	if secure {
		pair := l7test.KeyPair(t, l7test.Certificate(t, "backend.pem", "b.test"))
		o = append(o, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	}
	s := grpc.NewServer(o...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return ln.Addr().String(), g
}
