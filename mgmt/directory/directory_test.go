package directory_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/mgmt/directory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house returns valid settings.
func house() directory.Settings {
	return directory.Settings{Host: "ldap.example.com", BaseDN: "dc=example,dc=com", BindDN: "cn=search,dc=example,dc=com"}
}

func TestDefaultSettingsAreSafe(t *testing.T) {
	d, _ := openDirectory(nil)
	if s, _, err := d.Settings(); err != nil || s.Host != "" || s.Security != directory.StartTLS || s.Port != 389 || s.Scope != "sub" || s.Filter != "(uid=%s)" || s.Timeout != 5 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := d.Right(t.Context(), "ann", "any"); !errors.Is(err, directory.ErrNotSet) {
		t.Errorf("without settings: %v", err)
	}
	if _, err := d.Test(t.Context()); err == nil || !strings.Contains(err.Error(), "no LDAP directory is set") {
		t.Errorf("without settings: %v", err)
	}
	for host, want := range map[string]directory.Settings{
		"ldap://a.example":   {Host: "a.example", Security: directory.StartTLS, Port: 389},
		"ldaps://a.example/": {Host: "a.example", Security: directory.LDAPS, Port: 636},
		"192.0.2.7":          {Host: "192.0.2.7", Security: directory.StartTLS, Port: 389},
		"2001:db8::7":        {Host: "2001:db8::7", Security: directory.StartTLS, Port: 389},
	} {
		s := house()
		s.Host = host
		got, err := d.Plan(s, text("secret"))
		if err != nil || got.Host != want.Host || got.Security != want.Security || got.Port != want.Port {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for says, change := range map[string]func(*directory.Settings){
		"host:":                      func(s *directory.Settings) { s.Host = "a b" },
		`host: ""`:                   func(s *directory.Settings) { s.Host = "" },
		`host: "-a"`:                 func(s *directory.Settings) { s.Host = "-a" },
		`host: "` + long[:80]:        func(s *directory.Settings) { s.Host = long },
		"port: a number":             func(s *directory.Settings) { s.Port = 65536 },
		"got -1":                     func(s *directory.Settings) { s.Port = -1 },
		"security: allowed":          func(s *directory.Settings) { s.Security = "tls" },
		"timeout: a number":          func(s *directory.Settings) { s.Timeout = 16 },
		"15 is allowed, got -1":      func(s *directory.Settings) { s.Timeout = -1 },
		"scope: allowed":             func(s *directory.Settings) { s.Scope = "children" },
		"ca: a plain connection":     func(s *directory.Settings) { s.Security, s.CA = directory.None, "house" },
		"ca: the authority list":     func(s *directory.Settings) { s.CA = "none" },
		`base_dn: ""`:                func(s *directory.Settings) { s.BaseDN = "" },
		`base_dn: "example"`:         func(s *directory.Settings) { s.BaseDN = "example" },
		`base_dn: "dc=xxx`:           func(s *directory.Settings) { s.BaseDN = "dc=" + long },
		"bind_dn:":                   func(s *directory.Settings) { s.BindDN = "cn=a\nb" },
		`bind_dn: "xxx`:              func(s *directory.Settings) { s.BindDN = long },
		"filter: a percent sign":     func(s *directory.Settings) { s.Filter = "(uid=%s%d)" },
		`filter: "(uid=%s" is no`:    func(s *directory.Settings) { s.Filter = "(uid=%s" },
		`"uid" does not say where`:   func(s *directory.Settings) { s.Filter = "uid" },
		`filter: "(uid=%s)(cn=%s)"`:  func(s *directory.Settings) { s.Filter = "(uid=%s)(cn=%s)" },
		`filter: "(uid=%s)xxxxxxxxx`: func(s *directory.Settings) { s.Filter = "(uid=%s)" + long },
	} {
		d, m := openDirectory(nil)
		s := house()
		change(&s)
		err := d.Set(s, text("secret"))
		var known *directory.Error
		if !errors.As(err, &known) || !strings.Contains(known.Message, says) || m.Kept != nil || len(known.Message) > 400 {
			t.Errorf("%.40s: %v", says, err)
		}
	}
}

// A password is sent only to the host it was entered for.
func TestPasswordIsSentOnlyToItsDirectory(t *testing.T) {
	d, m := openDirectory(nil)
	refused := func(s directory.Settings, password *string, says string) {
		t.Helper()
		if err := d.Set(s, password); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
	refused(house(), nil, "bind_password is needed")
	refused(house(), text(""), "must not be empty")
	refused(house(), text(strings.Repeat("x", 513)), "at most 512")
	if err := d.Set(house(), text("s3cret")); err != nil {
		t.Fatal(err)
	}
	if _, has, _ := d.Settings(); !has || strings.Contains(string(m.Kept["ldap"]), "s3cret") {
		t.Errorf("kept: %s", m.Kept["ldap"])
	}
	for _, change := range []func(*directory.Settings){
		func(s *directory.Settings) { s.Host = "other.example" }, func(s *directory.Settings) { s.Port = 390 },
		func(s *directory.Settings) { s.Security = directory.LDAPS }, func(s *directory.Settings) { s.CA = "house" },
	} {
		s := house()
		change(&s)
		refused(s, nil, "must be sent again")
	}
	s := house()
	s.Filter = "(mail=%s)"
	if err := d.Set(s, nil); err != nil {
		t.Error(err)
	}
	if now, has, _ := d.Settings(); !has || now.Filter != "(mail=%s)" {
		t.Errorf("%+v, %t", now, has)
	}
	s.BindDN = ""
	refused(s, text("other"), "bind_dn is needed")
	if err := d.Set(s, nil); err != nil {
		t.Error(err)
	}
	if _, has, _ := d.Settings(); has {
		t.Error("the password stays without its name")
	}
	m.Full = true
	if before, _, _ := d.Settings(); d.Set(house(), text("s3cret")) == nil || !reflect.DeepEqual(before, now(d)) {
		t.Error("settings that are not kept are in force")
	}
}

func now(d *directory.Directory) directory.Settings { s, _, _ := d.Settings(); return s }

// serve answers each connection with a function.
func serve(t *testing.T, answer func(net.Conn)) directory.Settings {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answer(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return directory.Settings{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Security: directory.None, BaseDN: "dc=a", Timeout: 1}
}

func TestSilentDirectoryTimesOut(t *testing.T) {
	gone := make(chan struct{})
	for _, security := range []directory.Security{directory.None, directory.StartTLS, directory.LDAPS} {
		s := serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			select {
			case <-gone:
			case <-t.Context().Done():
			}
		})
		s.Security = security
		d, _ := openDirectory(nil)
		if err := d.Set(s, nil); err != nil {
			t.Fatal(err)
		}
		if right, err := d.Right(t.Context(), "ann", "any"); right || err == nil {
			t.Errorf("%s: %t, %v", security, right, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if right, err := d.Right(ctx, "ann", "any"); right || err == nil {
			t.Errorf("%s, given up: %t, %v", security, right, err)
		}
	}
	close(gone)
}

// Data that are no LDAP, or too many, cost limited memory and are no answer.
func TestDirectoryResponsesAreBounded(t *testing.T) {
	entry := []byte("\x30\x0c\x02\x01\x01\x64\x07\x04\x03o=x\x30\x00")
	for name, send := range map[string][]byte{
		"nothing":         nil,
		"noise":           []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"a giant":         []byte("\x30\x84\x7f\xff\xff\xff\x02\x01\x01"),
		"an odd packet":   []byte("\x30\x03\x02\x01\x01"),
		"another message": []byte("\x30\x0c\x02\x01\x09\x65\x07\x0a\x01\x00\x04\x00\x04\x00"),
		"endless entries": []byte(strings.Repeat(string(entry), 200_000)),
	} {
		s := serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write(send)
		})
		d, _ := openDirectory(nil)
		if err := d.Set(s, nil); err != nil {
			t.Fatal(err)
		}
		if right, err := d.Right(t.Context(), "ann", "any"); right || err == nil {
			t.Errorf("%s: %t, %v", name, right, err)
		}
	}
}

// A password is right only if the response to the bind says so. Any other message with a
// result code of 0 does not count.
func TestOnlyABindResponseMakesAPasswordRight(t *testing.T) {
	const entry, done = "\x30\x0c\x02\x01\x01\x64\x07\x04\x03o=x\x30\x00", "\x30\x0c\x02\x01\x01\x65\x07\x0a\x01\x00\x04\x00\x04\x00"
	for kind, want := range map[byte]bool{0x61: true, 0x65: false, 0x67: false, 0x78: false} {
		s := serve(t, func(c net.Conn) {
			b := make([]byte, 4096)
			_, _ = c.Read(b)
			_, _ = c.Write([]byte(entry + done))
			_, _ = c.Read(b)
			_, _ = c.Write([]byte("\x30\x0c\x02\x01\x02" + string([]byte{kind}) + "\x07\x0a\x01\x00\x04\x00\x04\x00"))
			_, _ = c.Read(b)
		})
		d, _ := openDirectory(nil)
		if err := d.Set(s, nil); err != nil {
			t.Fatal(err)
		}
		if right, err := d.Right(t.Context(), "ann", "any"); right != want || (err == nil) != want {
			t.Errorf("response of kind %#x: %t, %v", kind, right, err)
		}
	}
}
