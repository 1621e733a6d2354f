package http2

import "strconv"

// AppendChunk appends p, which must not be empty, as an HTTP/1.1 chunk (RFC 9112 section
// 7.1).
func AppendChunk(dst, p []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(len(p)), 16)
	dst = append(append(append(dst, "\r\n"...), p...), "\r\n"...)
	return dst
}

// AppendLastChunk appends the end of a chunked body. trailers are lines in the form of
// Handler.Trailers. http1.Chunked reads the result and filters the trailers.
func AppendLastChunk(dst, trailers []byte) []byte {
	dst = append(dst, "0\r\n"...)
	dst = append(dst, trailers...)
	return append(dst, "\r\n"...)
}
