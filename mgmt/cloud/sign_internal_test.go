package cloud

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The example of the AWS General Reference has a known signature.
func TestRequestsAreSignedAsInTheReference(t *testing.T) {
	r := httptest.NewRequest("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
	r.Header.Set("Content-Type", formType)
	sign(r, "", &Credentials{ID: "AKIDEXAMPLE", Place: "us-east-1", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}, "iam", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
		"Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("got  %s\nwant %s", got, strings.TrimSpace(want))
	}
}
