package http2_test

import (
	"io"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/http2"
)

var errEOF = io.EOF

// Errors that end the connection.
func TestFramesThatEndTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		why  *http2.Error
		send func(s *session)
	}{
		"no preface": {http2.ErrPreface, func(s *session) {
			s.Buffer.Reset()
			s.WriteString("GET / HTTP/1.1\r\n\r\n")
		}},
		"no settings": {http2.ErrNoSettings, func(s *session) {
			s.Buffer.Reset()
			s.WriteString(xhttp2.ClientPreface)
			_ = s.WritePing(false, [8]byte{})
		}},
		"acknowledged settings first": {http2.ErrNoSettings, func(s *session) {
			s.Buffer.Reset()
			s.WriteString(xhttp2.ClientPreface)
			_ = s.WriteSettingsAck()
		}},
		"frame too large":              {http2.ErrFrameSize, func(s *session) { _ = s.WriteRawFrame(0xa, 0, 0, zeros(16385)) }},
		"data too large":               {http2.ErrFrameSize, func(s *session) { s.post(1); _ = s.WriteRawFrame(0, 0, 1, zeros(16385)) }},
		"settings of five bytes":       {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(4, 0, 0, zeros(5)) }},
		"acknowledgement with payload": {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(4, 1, 0, zeros(6)) }},
		"settings on a stream":         {http2.ErrFrameStream, func(s *session) { _ = s.WriteRawFrame(4, 0, 1, nil) }},
		"ping on a stream":             {http2.ErrFrameStream, func(s *session) { _ = s.WriteRawFrame(6, 0, 1, zeros(8)) }},
		"ping of seven bytes":          {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(6, 0, 0, zeros(7)) }},
		"goaway on a stream":           {http2.ErrFrameStream, func(s *session) { _ = s.WriteRawFrame(7, 0, 1, zeros(8)) }},
		"goaway of seven bytes":        {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(7, 0, 0, zeros(7)) }},
		"data on stream 0":             {http2.ErrFrameStream, func(s *session) { _ = s.WriteData(0, false, zeros(1)) }},
		"headers on stream 0":          {http2.ErrFrameStream, func(s *session) { s.headers(0, true, s.get()) }},
		"reset of stream 0":            {http2.ErrFrameStream, func(s *session) { _ = s.WriteRSTStream(0, 8) }},
		"priority of stream 0":         {http2.ErrFrameStream, func(s *session) { _ = s.WriteRawFrame(2, 0, 0, zeros(5)) }},
		"reset of three bytes":         {http2.ErrFrameLength, func(s *session) { s.post(1); _ = s.WriteRawFrame(3, 0, 1, zeros(3)) }},
		"priority of four bytes, idle": {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(2, 0, 1, zeros(4)) }},
		"update of three bytes":        {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(8, 0, 0, zeros(3)) }},
		"update of zero":               {http2.ErrIncrement, func(s *session) { _ = s.WriteWindowUpdate(0, 0) }},
		"window overflow": {http2.ErrWindowOverflow, func(s *session) {
			_ = s.WriteWindowUpdate(0, 1<<31-1)
		}},
		"data on an idle stream":    {http2.ErrIdle, func(s *session) { _ = s.WriteData(1, false, zeros(1)) }},
		"reset of an idle stream":   {http2.ErrIdle, func(s *session) { _ = s.WriteRSTStream(1, 8) }},
		"update of an idle stream":  {http2.ErrIdle, func(s *session) { _ = s.WriteWindowUpdate(1, 1) }},
		"update of a stream of us":  {http2.ErrIdle, func(s *session) { _ = s.WriteWindowUpdate(2, 1) }},
		"even stream":               {http2.ErrStreamID, func(s *session) { s.headers(2, true, s.get()) }},
		"stream number going back":  {http2.ErrStreamID, func(s *session) { s.headers(5, true, s.get()).headers(3, true, s.get()) }},
		"data padded beyond":        {http2.ErrPadding, func(s *session) { s.post(1); _ = s.WriteRawFrame(0, 8, 1, []byte{4, 0, 0, 0}) }},
		"data padded without bytes": {http2.ErrFrameLength, func(s *session) { s.post(1); _ = s.WriteRawFrame(0, 8, 1, nil) }},
		"headers padded beyond":     {http2.ErrPadding, func(s *session) { _ = s.WriteRawFrame(1, 8|4, 1, []byte{4, 0, 0, 0}) }},
		"headers padded, no bytes":  {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(1, 8|4, 1, nil) }},
		"priority cut":              {http2.ErrFrameLength, func(s *session) { _ = s.WriteRawFrame(1, 0x20|4, 1, zeros(4)) }},
		"push":                      {http2.ErrPush, func(s *session) { s.post(1); _ = s.WriteRawFrame(5, 4, 1, zeros(4)) }},
		"stray continuation":        {http2.ErrContinuation, func(s *session) { _ = s.WriteContinuation(1, true, s.get()) }},
		"block interrupted": {http2.ErrContinuation, func(s *session) {
			_ = s.WriteRawFrame(1, 0, 1, s.get())
			_ = s.WritePing(false, [8]byte{})
		}},
		"block interrupted by data": {http2.ErrContinuation, func(s *session) {
			_ = s.WriteRawFrame(1, 0, 1, s.get())
			_ = s.WriteData(1, false, zeros(5))
		}},
		"block continued elsewhere": {http2.ErrContinuation, func(s *session) {
			_ = s.WriteRawFrame(1, 0, 1, s.get())
			_ = s.WriteContinuation(3, true, nil)
		}},
		"block that is none":     {http2.ErrCompression, func(s *session) { s.headers(1, true, []byte{0x80}) }},
		"trailers that are none": {http2.ErrCompression, func(s *session) { s.post(1).headers(1, true, []byte{0xff}) }},
		"refused block that is none": {http2.ErrCompression, func(s *session) {
			s.post(1)
			_ = s.WriteRSTStream(1, 8)
			s.headers(1, true, []byte{0x80})
		}},
		"push setting of 2":          {http2.ErrSettings, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 2, Val: 2}) }},
		"frame size 0":               {http2.ErrSettings, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 5, Val: 0}) }},
		"frame size 16383":           {http2.ErrSettings, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 5, Val: 16383}) }},
		"frame size 2^24":            {http2.ErrSettings, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 5, Val: 1 << 24}) }},
		"initial window 2^31":        {http2.ErrSettingsWindow, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 1 << 31}) }},
		"connect protocol setting 2": {http2.ErrSettings, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 8, Val: 2}) }},
		"initial window that overflows a stream": {http2.ErrSettingsWindow, func(s *session) {
			s.headers(1, true, s.get())
			_ = s.WriteWindowUpdate(1, 1<<31-1-65535)
			_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 65536})
		}},
		"more data than the connection's window": {http2.ErrWindow, func(s *session) {
			for id := uint32(1); id < 20; id += 2 {
				s.post(id)
				for range 3 {
					_ = s.WriteData(id, false, zeros(16384))
				}
			}
		}},
		"head on a stream that ended": {http2.ErrClosed, func(s *session) {
			s.onHead = func(q *http2.Stream) { q.Respond([]byte("HTTP/1.1 204 No Content\r\n\r\n"), true) }
			s.headers(1, true, s.get()).headers(1, true, s.get())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil)
			c.send(s)
			s.ends(c.why)
		})
	}
}

// Errors that end one stream.
func TestFramesThatEndAStream(t *testing.T) {
	for name, c := range map[string]struct {
		why  *http2.Error
		send func(s *session)
	}{
		"data after the end":    {http2.ErrClosed, func(s *session) { s.headers(1, true, s.get()); _ = s.WriteData(1, false, zeros(1)) }},
		"headers after the end": {http2.ErrClosed, func(s *session) { s.headers(1, true, s.get()).headers(1, true, s.get()) }},
		"data after a reset": {http2.ErrClosed, func(s *session) {
			s.post(1)
			_ = s.WriteRSTStream(1, 8)
			_ = s.WriteData(1, false, zeros(1))
		}},
		"update of zero":    {http2.ErrIncrement, func(s *session) { s.post(1); _ = s.WriteWindowUpdate(1, 0) }},
		"window overflow":   {http2.ErrWindowOverflow, func(s *session) { s.post(1); _ = s.WriteWindowUpdate(1, 1<<31-1) }},
		"priority too long": {http2.ErrFrameLength, func(s *session) { s.post(1); _ = s.WriteRawFrame(2, 0, 1, zeros(6)) }},
		"depends on itself": {http2.ErrDependency, func(s *session) {
			_ = s.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 1, BlockFragment: s.get(), EndHeaders: true, EndStream: true,
				Priority: xhttp2.PriorityParam{StreamDep: 1}})
		}},
		"comes to depend on itself": {http2.ErrDependency, func(s *session) { s.post(1); _ = s.WritePriority(1, xhttp2.PriorityParam{StreamDep: 1}) }},
		"more data than its window": {http2.ErrWindow, func(s *session) {
			s.post(1)
			for range 5 {
				_ = s.WriteData(1, false, zeros(16384))
			}
		}},
		"trailers that do not end it": {http2.ErrTrailers, func(s *session) { s.post(1).headers(1, false, s.fields("x-a", "1")) }},
		"pseudo field in trailers":    {http2.ErrPseudo, func(s *session) { s.post(1).headers(1, true, s.fields(":path", "/")) }},
		"connection in trailers":      {http2.ErrConnection, func(s *session) { s.post(1).headers(1, true, s.fields("connection", "close")) }},
		"trailers before all data":    {http2.ErrLengthData, func(s *session) { s.post(1, "content-length", "5").headers(1, true, s.fields("x-a", "1")) }},
		"data beyond content-length":  {http2.ErrLengthData, func(s *session) { s.post(1, "content-length", "2"); _ = s.WriteData(1, false, zeros(3)) }},
		"data short of content-length": {http2.ErrLengthData, func(s *session) {
			s.post(1, "content-length", "5")
			_ = s.WriteData(1, false, zeros(2))
			_ = s.WriteData(1, true, zeros(2))
		}},
		"no data for content-length": {http2.ErrLengthData, func(s *session) { s.headers(1, true, s.get("content-length", "1")) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil)
			c.send(s)
			s.resets(1, c.why)
			// The connection continues.
			s.headers(7, true, s.get())
			if _, err := s.flush(); err != nil || s.streams[7] == nil {
				t.Errorf("then %v", err)
			}
			if got := s.conn.Streams(); got != 1 {
				t.Errorf("%d streams", got)
			}
		})
	}
}

// Frames already in flight when we reset a stream are not an error.
func TestLateFramesOfResetStreamsAreIgnored(t *testing.T) {
	s := newSession(t, nil)
	s.onHead = func(q *http2.Stream) { q.Reset(http2.CodeCancel) }
	s.post(1)
	_ = s.WriteData(1, false, zeros(100))
	_ = s.WriteWindowUpdate(1, 5)
	_ = s.WriteRSTStream(1, 8)
	s.headers(1, true, s.fields("x-a", "b"))
	frames, err := s.flush()
	if err != nil || strings.Count(strings.Join(frames, "\n"), "RST_STREAM") != 1 || s.sh.Count(http2.ErrClosed) != 0 {
		t.Errorf("%v %q", err, frames)
	}
	// The HPACK table stayed in step.
	s.headers(3, true, s.get("x-a", "b"))
	if _, err := s.flush(); err != nil || s.count("head 3 true GET / HTTP/1.1\r\nHost: a.test\r\nx-a: b\r\n\r\n") != 1 {
		t.Errorf("%v %q", err, s.events)
	}
}

// The events do not depend on how the bytes are split.
func TestBytesMayComeInAnyPieces(t *testing.T) {
	write := func(s *session) []byte {
		s.post(1, "content-length", "6000")
		_ = s.WriteDataPadded(1, false, zeros(1000), zeros(20))
		_ = s.WriteData(1, false, zeros(3000))
		_ = s.WriteData(1, true, zeros(2000))
		_ = s.WriteRawFrame(1, 1, 3, s.get()[:3])
		_ = s.WriteContinuation(3, false, s.get()[3:4])
		_ = s.WriteContinuation(3, true, s.get()[4:])
		_ = s.WriteRawFrame(0xfa, 0, 0, zeros(300))
		s.post(5)
		_ = s.WriteDataPadded(5, true, nil, zeros(255))
		return s.take()
	}
	summary := func(s *session) string {
		var b strings.Builder
		sizes := map[string]int{}
		for _, e := range s.events {
			if name, data, ok := strings.Cut(e, "\x00"); ok || strings.HasPrefix(e, "data") {
				stream := strings.Fields(name)[1]
				if sizes[stream] += len(data); ok {
					sizes[stream]++
				}
				if strings.Contains(name, "true") {
					b.WriteString("end of " + stream + "\n")
				}
				continue
			}
			b.WriteString(e)
		}
		for _, stream := range []string{"1", "5"} {
			b.WriteString(strings.Repeat("x", sizes[stream]) + "\n")
		}
		return b.String()
	}
	whole := newSession(t, nil)
	if err := whole.conn.Receive(write(whole)); err != nil {
		t.Fatal(err)
	}
	want := summary(whole)
	if whole.count("data 1") != 1 {
		t.Errorf("data in one read came as %d events", whole.count("data 1"))
	}
	for _, step := range []int{1, 2, 3, 7, 8, 9, 10, 11, 100, 1000} {
		s := newSession(t, nil)
		for b := write(s); len(b) > 0; {
			n := min(step, len(b))
			if err := s.conn.Receive(b[:n:n]); err != nil {
				t.Fatal(err)
			}
			b = b[n:]
		}
		if got := summary(s); got != want {
			t.Errorf("in steps of %d:\n%s\n%s", step, got, want)
		}
	}
}

func TestPrefaceIsRecognised(t *testing.T) {
	for text, want := range map[string][2]bool{
		xhttp2.ClientPreface:       {true, false},
		xhttp2.ClientPreface + "x": {true, false},
		"PRI * HT":                 {false, true},
		"":                         {false, true},
		"GET / HTTP/1.1\r\n":       {false, false},
		"PRI * HTTP/1.1\r\n":       {false, false},
	} {
		if yes, more := http2.Preface([]byte(text)); [2]bool{yes, more} != want {
			t.Errorf("%q: %v %v", text, yes, more)
		}
	}
}
