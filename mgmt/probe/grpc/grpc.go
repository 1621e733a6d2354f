// Package grpc checks gRPC servers with the gRPC health checking protocol: one call of
// grpc.health.v1.Health/Check. The call is an HTTP/2 request with a message of one field in
// each direction, so it needs no gRPC library.
package grpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server    wire.Server
	service   probe.Text
	authority probe.Text
}

// Check is check_grpc.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 50051}}
	c.server.Flags(f, "p port")
	f.Text(&c.service, "s service")
	f.Text(&c.authority, "authority")
	return func() (probe.Probe, error) { return c, nil }
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	var mu sync.Mutex // net/http dials in a goroutine of its own
	var opened []net.Conn
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, below, err := c.open(ctx, n, to, say)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			opened = append(opened, below)
		}
		return conn, err
	}
	transport := &http.Transport{DialContext: dial, DialTLSContext: dial, MaxResponseHeaderBytes: wire.Most, DisableCompression: true, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer func() {
		transport.CloseIdleConnections()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range opened {
			_ = c.Close()
		}
	}()
	answer, err := transport.RoundTrip(c.request(to).WithContext(ctx))
	if err != nil {
		return probe.Unread(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, wire.Most))
	if err != nil {
		return err
	}
	return judge(answer, body, say)
}

func (c *check) request(to probe.Target) *http.Request {
	name := c.authority.For(to)
	if name == "" {
		name = c.server.Authority(to)
	}
	where := &url.URL{Scheme: "http", Host: name, Path: "/grpc.health.v1.Health/Check"}
	if c.server.Secure {
		where.Scheme = "https"
	}
	return &http.Request{Method: http.MethodPost, URL: where, Host: name, Body: io.NopCloser(bytes.NewReader(message(c.service.For(to)))),
		Header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"Sluice health check"}}}
}

// healthCall is the step after the connection.
const healthCall = "health call"

// open connects; the caller must close below. Over TLS, HTTP/2 must be negotiated.
func (c *check) open(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (conn, below net.Conn, err error) {
	plain, err := c.server.Dial(ctx, n, to, say)
	if err == nil && !c.server.Secure {
		probe.Step(ctx, healthCall)
	}
	if err != nil || !c.server.Secure {
		return plain, plain, err
	}
	config := c.server.Config(to)
	config.NextProtos = []string{"h2"}
	secured, err := c.server.TLS.Handshake(ctx, plain, config, say)
	if err != nil {
		_ = plain.Close()
		return nil, nil, err
	}
	probe.Step(ctx, healthCall)
	return secured, plain, nil
}

// message returns a HealthCheckRequest: the service is field 1, a string.
func message(service string) []byte {
	var body []byte
	if service != "" {
		body = binary.AppendUvarint([]byte{0x0a}, uint64(len(service)))
		body = append(body, service...)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// serving is the healthy status of HealthCheckResponse.
const serving = 1

func statusName(status uint64) string {
	if names := []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}; status < uint64(len(names)) {
		return names[status]
	}
	return strconv.FormatUint(status, 10)
}

// codeName returns the names of those gRPC codes that come from a server that is ill or has
// no health service.
func codeName(code string) string {
	switch code {
	case "4":
		return "4 DEADLINE_EXCEEDED"
	case "5":
		return "5 NOT_FOUND: it knows no such service"
	case "7":
		return "7 PERMISSION_DENIED"
	case "12":
		return "12 UNIMPLEMENTED: it has no health service"
	case "14":
		return "14 UNAVAILABLE"
	case "16":
		return "16 UNAUTHENTICATED"
	}
	return probe.Line(code)
}

func judge(r *http.Response, body []byte, say probe.Say) error {
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s, which is not gRPC", probe.Line(r.Status))
	}
	code := r.Trailer.Get("Grpc-Status")
	if code == "" {
		code = r.Header.Get("Grpc-Status") // when the answer has no body
	}
	switch {
	case code == "":
		return errors.New("answered without a status, which is not gRPC")
	case code != "0":
		return fmt.Errorf("answered status %s", codeName(code))
	}
	status, err := readStatus(body)
	if err != nil {
		return err
	}
	say("answered %s", statusName(status))
	if status != serving {
		return fmt.Errorf("answered %s, wanted SERVING", statusName(status))
	}
	return nil
}

const errStrange = probe.Strange("the answer is not that of a health service")

// readStatus reads a HealthCheckResponse: the status is field 1, a number. An empty message
// is UNKNOWN.
func readStatus(body []byte) (uint64, error) {
	if len(body) < 5 || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:])) != int64(len(body)-5) {
		return 0, errStrange
	}
	body = body[5:]
	if len(body) == 0 {
		return 0, nil
	}
	if body[0] != 0x08 {
		return 0, errStrange
	}
	status, n := binary.Uvarint(body[1:])
	if n <= 0 {
		return 0, errStrange
	}
	return status, nil
}
