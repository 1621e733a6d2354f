package http1_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestErrorsHaveAStatusAndReason(t *testing.T) {
	for status, errs := range map[int][]*http1.Error{
		400: {
			http1.ErrRequestLine, http1.ErrVersion, http1.ErrTarget, http1.ErrTargetByte, http1.ErrTargetEscape, http1.ErrTargetHidden,
			http1.ErrTargetDouble, http1.ErrTargetUTF8, http1.ErrTargetDots, http1.ErrTargetParam, http1.ErrTargetHost,
			http1.ErrLineEnd, http1.ErrFold, http1.ErrFieldName, http1.ErrFieldValue, http1.ErrHostMissing, http1.ErrHostRepeated,
			http1.ErrHost, http1.ErrLength, http1.ErrLengthRepeated, http1.ErrCoding, http1.ErrCodingVersion, http1.ErrCodingLength,
			http1.ErrConnection, http1.ErrTraceBody, http1.ErrChunkSize, http1.ErrChunkExtension, http1.ErrChunkEnd,
			http1.ErrTrailer, http1.ErrTrailerTooLong, http1.ErrTrailerField,
			http1.ErrWebSocketMethod, http1.ErrWebSocketKeyMissing, http1.ErrWebSocketKey,
		},
		405: {http1.ErrConnect},
		413: {http1.ErrBodyTooLong},
		414: {http1.ErrTargetTooLong},
		417: {http1.ErrExpect},
		431: {http1.ErrHeadTooLong, http1.ErrTooManyFields},
		501: {http1.ErrMethodTooLong, http1.ErrCodingUnknown},
		502: {
			http1.ErrStatusLine, http1.ErrStatusVersion, http1.ErrSwitchUnasked, http1.ErrSwitchUpgrade, http1.ErrSwitchConnection, http1.ErrSwitchProtocol,
			http1.ErrAcceptMissing, http1.ErrAccept, http1.ErrCodingRepeated, http1.ErrCodingIdentity, http1.ErrChunkForm, http1.ErrStatusRange,
			http1.ErrStatusForm, http1.ErrBareHead, http1.ErrNameBlank, http1.ErrNameByte, http1.ErrControl, http1.ErrConnectionForm, http1.ErrMixedEnds,
		},
		505: {http1.ErrVersionUnknown},
	} {
		for _, err := range errs {
			if err.Status != status {
				t.Errorf("%v: status %d, want %d", err, err.Status, status)
			}
		}
	}
	if got := http1.ErrHost.Error(); got != "http/1: malformed Host" {
		t.Errorf("got %q, want %q", got, "http/1: malformed Host")
	}
}
