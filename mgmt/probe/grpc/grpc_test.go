package grpc_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	stdgrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/grpc"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// start starts a gRPC server, with or without the health service.
func start(t *testing.T, secure, healthy bool) (probe.Target, *health.Server) {
	t.Helper()
	var options []stdgrpc.ServerOption
	if secure {
		leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("api.example")
		options = append(options, stdgrpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{leaf.TLS()}})))
	}
	s, h := stdgrpc.NewServer(options...), health.NewServer()
	if healthy {
		grpc_health_v1.RegisterHealthServer(s, h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return probetest.At(uint16(l.Addr().(*net.TCPAddr).Port)), h
}

func TestHealthServiceIsQueried(t *testing.T) {
	for _, secure := range []bool{false, true} {
		to, h := start(t, secure, true)
		ask := func(args ...string) probetest.Asked {
			if args = append(args, "-p", "PORT"); secure {
				args = append(args, "-S")
			}
			return probetest.Check(t, "check_grpc", grpc.Check, to, args...)
		}
		ask().Healthy(t)
		h.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		ask().Down(t, "answered NOT_SERVING, wanted SERVING")
		ask("-s", "shop.Orders").Down(t, "answered status 5 NOT_FOUND")
		h.SetServingStatus("shop.Orders", grpc_health_v1.HealthCheckResponse_SERVING)
		ask("-s", "shop.Orders").Healthy(t)
		h.SetServingStatus("shop.Orders", grpc_health_v1.HealthCheckResponse_UNKNOWN)
		ask("-s", "shop.Orders").Down(t, "answered UNKNOWN")
	}
}

func TestServerWithoutHealthServiceIsDown(t *testing.T) {
	to, _ := start(t, false, false)
	probetest.Check(t, "check_grpc", grpc.Check, to, "-p", "PORT").Down(t, "answered status 12 UNIMPLEMENTED")
}
