package redis_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/redis"
)

func TestMasterIsHealthy(t *testing.T) {
	for _, c := range []struct {
		replies []string
		args    string
		reason  string
	}{
		{[]string{"+PONG\r\n", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"}, "", ""},
		{[]string{"+PONG\r\n", "*3\r\n$5\r\nslave\r\n"}, "", "the server is a slave, wanted a master"},
		{[]string{"+PONG\r\n", "*3\r\n$5\r\nslave\r\n"}, "--role slave", ""},
		{[]string{"+PONG\r\n"}, "--role any", ""},
		{[]string{"$4\r\nPONG\r\n"}, "--role any", ""},
		{[]string{"-NOAUTH Authentication required.\r\n"}, "", `PING: answered "NOAUTH Authentication required."`},
		{[]string{"-LOADING Redis is loading\r\n"}, "", `"LOADING Redis is loading"`},
		{[]string{"+OK\r\n", "+PONG\r\n"}, "-a hunter2 --role any", ""},
		{[]string{"-WRONGPASS invalid\r\n"}, "-u me -a hunter2", `login (AUTH): answered "WRONGPASS invalid"`},
		{[]string{"+PANG\r\n"}, "", `PING: answered "PANG"`},
		{[]string{"HTTP/1.1 400 Bad Request\r\n"}, "", "not that of Redis"},
		{[]string{"\r\n"}, "", "not that of Redis"},
		{[]string{"$70000\r\n"}, "", "not that of Redis"},
		{[]string{"$-1\r\n"}, "", "not that of Redis"},
		{[]string{"+PONG\r\n", "*1\r\n*1\r\n*1\r\n"}, "", "not that of Redis"},
		{[]string{"+PONG\r\n", "*0\r\n"}, "", "not that of Redis"},
		{[]string{"+" + strings.Repeat("x", 5000)}, "", "buffer full"},
	} {
		to := probetest.Replies(t, "", c.replies...)
		got := probetest.Check(t, "check_redis", redis.Check, to, append([]string{"-h", "HOST", "-p", "PORT"}, strings.Fields(c.args)...)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
		if strings.Contains(got.Said, "hunter2") || got.Err != nil && strings.Contains(got.Err.Error(), "hunter2") {
			t.Errorf("the password is shown: %s %v", got.Said, got.Err)
		}
	}
}

func TestWordsAreSentWithTheirLengths(t *testing.T) {
	to, heard := probetest.Hears(t, "-ERR\r\n")
	probetest.Check(t, "check_redis", redis.Check, to, "-p", "PORT", "-u", "me", "-a", "two words").Down(t, "login (AUTH): answered")
	if got := <-heard; got != "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$9\r\ntwo words\r\n" {
		t.Errorf("sent %q, want %q", got, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$9\r\ntwo words\r\n")
	}
	if got := probetest.Refused(t, "check_redis", redis.Check, "-u", "me"); !strings.Contains(got, "wants a password") {
		t.Error(got)
	}
}
