package mssql

import "testing"

func FuzzReadVersion(f *testing.F) {
	f.Add(prelogin[headBytes:])
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 5, 0, 6})
	f.Fuzz(func(t *testing.T, body []byte) {
		if v, err := readVersion(body); (v == "") == (err == nil) {
			t.Errorf("%q, %v", v, err)
		}
	})
}

func TestPreloginContainsItsLength(t *testing.T) {
	if int(prelogin[3]) != len(prelogin) {
		t.Errorf("%d bytes, the length field is %d", len(prelogin), prelogin[3])
	}
	if v, err := readVersion(prelogin[headBytes:]); v != "16.0.0" || err != nil {
		t.Errorf("got %s, %v, want %s", v, err, "16.0.0")
	}
}
