// Package changepoint finds the times at which the level of a series of measured values
// changes.
//
//	values ─► Mann-Whitney over two windows, short ones first ─► Pettitt: where ─► is it large, and sharp?
//
// At each position the Mann-Whitney rank test compares the values of a window before it with
// the values of a window after it. The test assumes no distribution: a few outliers are a few
// ranks. Windows of several lengths are tried: a short one finds a change that lasts a
// minute, and a long one finds a change hidden in noise. Within the two windows the test of
// Pettitt (1979) finds the position of the step. A step must be large enough to matter
// (Bounds), and sudden: a slope is none.
//
// Everything here is a pure function of its arguments.
package changepoint
