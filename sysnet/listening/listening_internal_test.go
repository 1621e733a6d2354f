package listening

import (
	"strings"
	"testing"
)

func TestMalformedSocketLinesAreErrors(t *testing.T) {
	const heading = "sl local_address rem_address st\n"
	for text, fails := range map[string]bool{
		heading: false, "": false, heading + "0: 0100007F:0016 00000000:0000 0A 0": false,
		heading + "0: 0100007F:0016": true, heading + "0: 0100007F 0 0A": true, heading + "0: 01007F:0016 0 0A": true, heading + "0: x:0016 0 0A": true, heading + "0: 0100007F:10016 0 0A": true,
		heading + "0: x 0 01\n": false, // a connection: no listening socket follows
	} {
		if _, err := read(strings.NewReader(text), false); (err != nil) != fails {
			t.Errorf("%q: %v", text, err)
		}
	}
}
