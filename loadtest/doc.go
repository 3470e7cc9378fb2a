// Package loadtest drives a running rankgate from outside and says how it did: open-loop load with honest
// latencies, a workload whose result is known, an oracle that folds what was acknowledged, a comparison of
// every score, rank and count with it, a witness of the answers on the way, and faults on a timeline.
//
// It knows rankgate by its public contract alone. The oracle shares no rule with the code under test: it has
// its own fold, its own order and its own calendar, each in the most obvious way there is.
// It may import rankcore for its words, loadtest/servers, fasthttp and HdrHistogram.
package loadtest
