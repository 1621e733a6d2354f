package mongo_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/mongo"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// document returns a BSON document of elements.
func document(elements ...string) string {
	size := 5
	for _, e := range elements {
		size += len(e)
	}
	out := string(binary.LittleEndian.AppendUint32(nil, uint32(size)))
	for _, e := range elements {
		out += e
	}
	return out + "\x00"
}

func double(name string, x float64) string {
	return "\x01" + name + "\x00" + string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
}

func boolean(name string, is bool) string {
	if is {
		return "\x08" + name + "\x00\x01"
	}
	return "\x08" + name + "\x00\x00"
}

func text(name, s string) string {
	return "\x02" + name + "\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1))) + s + "\x00"
}

// message returns an answer with a document in it.
func message(doc string) string {
	le := binary.LittleEndian.AppendUint32
	return string(le(le(le(le(nil, uint32(21+len(doc))), 7), 1), 2013)) + "\x00\x00\x00\x00\x00" + doc
}

func TestHelloResponsesAreJudged(t *testing.T) {
	// Other elements of the answer are skipped: documents, dates, ids, binaries.
	rest := "\x03topologyVersion\x00" + document("\x07processId\x00123456789012", "\x12counter\x0012345678") + "\x09localTime\x0012345678" + "\x05b\x00\x03\x00\x00\x00\x00abc" + "\x10maxWireVersion\x00\x15\x00\x00\x00" + "\x0an\x00"
	for _, c := range []struct{ answer, role, reason string }{
		{message(document(rest, boolean("isWritablePrimary", true), double("ok", 1))), "any", ""},
		{message(document(boolean("isWritablePrimary", false), boolean("secondary", true), rest, double("ok", 1))), "any", ""},
		{message(document(boolean("isWritablePrimary", false), boolean("secondary", true), double("ok", 1))), "primary", "the server is secondary, wanted primary"},
		{message(document(boolean("isWritablePrimary", true), double("ok", 1))), "secondary", "the server is primary, wanted secondary"},
		{message(document(boolean("isWritablePrimary", true), double("ok", 1))), "primary", ""},
		{message(document("\x06gone\x00", "\xffleast\x00", "\x7fmost\x00", boolean("isWritablePrimary", true), double("ok", 1))), "any", ""}, // values of no bytes
		{message(document(boolean("isWritablePrimary", false), double("ok", 1))), "any", "neither primary nor secondary"},
		{message(document(double("ok", 0), text("errmsg", "no such command"))), "any", "hello: refused: no such command"},
		{message(document(rest)), "any", "hello: refused"},
		{message("\x05\x00\x00\x00\x01"), "any", "not that of MongoDB"},
		{message("\xff\x00\x00\x00\x00\x00"), "any", "not that of MongoDB"},
		{message(document("\x55x\x00")), "any", "not that of MongoDB"},
		{message(document("\x02x\x00\xff\xff\xff\x7f")), "any", "not that of MongoDB"},
		{"\xff\xff\xff\x3f" + message(document(double("ok", 1)))[4:], "any", "not that of MongoDB"},
		{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "any", "not that of MongoDB"},
	} {
		got := probetest.Check(t, "check_mongodb", mongo.Check, probetest.Replies(t, "", c.answer), "-p", "PORT", "--role", c.role)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
}

func TestHelloRequestIsAnOpMsg(t *testing.T) {
	to, heard := probetest.Hears(t, "")
	probetest.Check(t, "check_mongodb", mongo.Check, to, "-p", "PORT").Down(t, "the server closed the connection")
	doc := document("\x10hello\x00\x01\x00\x00\x00", text("$db", "admin"))
	le := binary.LittleEndian.AppendUint32
	if got, want := <-heard, string(le(le(le(le(nil, uint32(21+len(doc))), 1), 0), 2013))+"\x00\x00\x00\x00\x00"+doc; got != want {
		t.Errorf("sent %q, wanted %q", got, want)
	}
}
