package probe_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
)

func TestReasonNamesEndsOfConnections(t *testing.T) {
	for want, errs := range map[string][]error{
		"the server closed the connection": {io.EOF, io.ErrUnexpectedEOF,
			&url.Error{Op: "Get", URL: "http://192.0.2.1/", Err: errors.New("http2: client conn could not be established")},
			&url.Error{Op: "Get", URL: "http://192.0.2.1/", Err: errors.New("http: server closed idle connection")}},
		"page: the server closed the connection": {fmt.Errorf("page: %w", io.EOF)},
		"the server reset the connection":        {syscall.ECONNRESET, syscall.EPIPE},
		"no answer in time":                      {os.ErrDeadlineExceeded, syscall.ETIMEDOUT},
		"connection refused":                     {syscall.ECONNREFUSED},
		"something else":                         {errors.New("something\nelse")},
	} {
		for _, err := range errs {
			if got := probe.Reason(err); got != want {
				t.Errorf("%v: got %q, want %q", err, got, want)
			}
		}
	}
}
