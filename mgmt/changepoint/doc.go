// Package changepoint finds the moments at which the level of a series of measured
// values becomes another one.
//
//	values ─► Mann-Whitney over two windows, short ones first ─► Pettitt: where ─► is it large, and sharp?
//
// At each position the values of a window before it are compared with those of one
// behind it by the rank test of Mann and Whitney, which knows no distribution: a few
// outliers are a few ranks. Windows of several lengths are tried, because a short one
// finds what lasts a minute and a long one what noise hides. Within the two windows the
// test of Pettitt (1979) says where the step is. A step has to be large enough to matter
// to somebody (Bounds), and to happen at once: a slope is none.
//
// Everything here is a pure function of its arguments.
package changepoint
