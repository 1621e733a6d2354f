package mqtt_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/mqtt"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestBrokerTakesAConnection(t *testing.T) {
	for _, c := range []struct {
		replies []string
		reason  string
	}{
		{[]string{"\x20\x02\x00\x00", "\xd0\x00"}, ""},
		{[]string{"\x20\x02\x01\x00", "\xd0\x00"}, ""},
		{[]string{"\x20\x02\x00\x05"}, "login (CONNECT): refused: not authorized"},
		{[]string{"\x20\x02\x00\x03"}, "the service is not available"},
		{[]string{"\x20\x02\x00\x06"}, "no CONNACK"},
		{[]string{"\x20\x02\x02\x00"}, "no CONNACK"},
		{[]string{"\x30\x02\x00\x00"}, "no CONNACK"},
		{[]string{"HTTP"}, "no CONNACK"},
		{[]string{"\x20\x02\x00\x00", "\xd0\x01"}, "no PINGRESP"},
		{[]string{"\x20\x02\x00\x00", "\x20\x00"}, "no PINGRESP"},
	} {
		got := probetest.Check(t, "check_mqtt", mqtt.Check, probetest.Replies(t, "", c.replies...), "-p", "PORT")
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
}

func TestUserAndPasswordAreSent(t *testing.T) {
	to, heard := probetest.Hears(t, "")
	long := strings.Repeat("p", 200)
	probetest.Check(t, "check_mqtt", mqtt.Check, to, "-p", "PORT", "-i", "id", "-u", "me", "-P", long).Down(t, "the server closed the connection")
	want := "\x10\xdc\x01\x00\x04MQTT\x04\xc2\x00\x3c\x00\x02id\x00\x02me\x00\xc8" + long
	if got := <-heard; got != want {
		t.Errorf("sent %q, wanted %q", got, want)
	}
	if got := probetest.Refused(t, "check_mqtt", mqtt.Check, "-P", "x"); !strings.Contains(got, "wants a user") {
		t.Error(got)
	}
}
