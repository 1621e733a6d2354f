package http2

import "strconv"

// AppendChunk appends p, which is not empty, as a chunk of HTTP/1.1 (RFC 9112
// section 7.1).
func AppendChunk(dst, p []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(len(p)), 16)
	dst = append(append(append(dst, "\r\n"...), p...), "\r\n"...)
	return dst
}

// AppendLastChunk appends the end of a chunked body. trailers are lines as
// Handler.Trailers brings them: which of them may go on is http1.Chunked's to
// say, which reads what is appended here.
func AppendLastChunk(dst, trailers []byte) []byte {
	dst = append(dst, "0\r\n"...)
	dst = append(dst, trailers...)
	return append(dst, "\r\n"...)
}
