package accesslog

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

func TestValuesOfFieldsAreWritten(t *testing.T) {
	for _, c := range []struct {
		field farm.LogField
		edit  func(e *accesslog.Entry)
		want  string
	}{
		{farm.LogTLSVersion, func(e *accesslog.Entry) { e.TLSVersion = 0x301 }, `{"tls_version":"TLSv1.0"}`},
		{farm.LogTLSVersion, func(e *accesslog.Entry) { e.TLSVersion = 0x302 }, `{"tls_version":"TLSv1.1"}`},
		{farm.LogTLSVersion, func(e *accesslog.Entry) { e.TLSVersion = 0x303 }, `{"tls_version":"TLSv1.2"}`},
		{farm.LogTLSVersion, func(e *accesslog.Entry) { e.TLSVersion = 0x304 }, `{"tls_version":"TLSv1.3"}`},
		{farm.LogTLSVersion, func(e *accesslog.Entry) { e.TLSVersion = 0x305 }, `{}`},
		{farm.LogTLSCipher, func(e *accesslog.Entry) { e.Cipher = 0x1301 }, `{"tls_cipher":"TLS_AES_128_GCM_SHA256"}`},
		{farm.LogTLSCipher, func(e *accesslog.Entry) { e.Cipher = 0x9abc }, `{"tls_cipher":"0x9abc"}`},
		{farm.LogTLSCipher, func(e *accesslog.Entry) { e.Cipher = 0 }, `{}`},
		{farm.LogClientPort, nil, `{"client_port":40000}`},
		{farm.LogClientPort, func(e *accesslog.Entry) { e.Begin(); e.Farm = 1 }, `{}`},
		{farm.LogClient, func(e *accesslog.Entry) { e.Begin(); e.Farm = 1 }, `{}`},
		{farm.LogClient, func(e *accesslog.Entry) { e.Client(netip.MustParseAddrPort("[2001:db8::1]:7")) }, `{"client":"2001:db8::1"}`},
		{farm.LogFlags, func(e *accesslog.Entry) { e.Flags = accesslog.Logged | accesslog.Reused | accesslog.Session }, `{"flags":"reused,session"}`},
		{farm.LogTime, func(e *accesslog.Entry) { e.Time = -1 }, `{"time":"1969-12-31T23:59:59.999999Z"}`},
		{farm.LogTotal, func(e *accesslog.Entry) { e.Total = 0 }, `{"total_us":0}`},
	} {
		if got := formatted(&farm.AccessLog{Fields: []farm.LogField{c.field}}, c.edit); got != c.want+"\n" {
			t.Errorf("%s: got %s, want %s", c.field, got, c.want)
		}
	}
}

func TestInvalidEscapesAreKept(t *testing.T) {
	for text, want := range map[string]string{"a%2Fb%2f%6a": "a/b/j", "%zz%g0%0g%": "%zz%g0%0g%", "%4": "%4", "%40": "@", "%": "%", "": "", "%9A%:0%@0%`0%/0": "\x9a%:0%@0%`0%/0"} {
		if got := string(decoded([]byte(text), nil)); got != want {
			t.Errorf("%q is decoded as %q, want %q", text, got, want)
		}
	}
}

func TestGrownChunkReleasesItsMemory(t *testing.T) {
	for size, want := range map[int]int{4 * chunkSize: 4 * chunkSize, 4*chunkSize + 1: chunkSize} {
		c := &chunk{bytes: make([]byte, size), ends: []int{size}}
		if c.empty(); cap(c.bytes) != want || len(c.bytes) != 0 || len(c.ends) != 0 {
			t.Errorf("of %d bytes %d stay", size, cap(c.bytes))
		}
	}
}
