//! Flows: the output of an agent is the prompt of those that follow it in the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{LocalBoxFuture, join_all};
use futures::stream::FuturesUnordered;

use crate::compose::{Composed, FlowGraph, Loop, Member, Route, Vote};
use crate::host::RoleRun;
use crate::member_run::{ComposedRun, MemberRuns, RunHost};
use crate::routing;

const TIME: Duration = Duration::from_mins(5);

/// Something that passes from one agent to the next. One that does not exist yet may still come.
#[derive(Clone, PartialEq)]
enum Delivery {
    Text(String),
    /// Another way was chosen.
    Skipped,
    /// An agent before it failed.
    Failed,
}

/// The end of one agent's work, or of all candidates of an ensemble.
struct Ended {
    runs: Vec<(usize, RoleRun)>,
    /// The agent whose output goes on.
    winner: Result<usize, String>,
    /// The targets that get the output.
    chosen: Vec<usize>,
}

struct Scheduler<'a> {
    flow: &'a Composed,
    graph: &'a FlowGraph,
    runs: &'a MemberRuns<'a>,
    deliveries: BTreeMap<(usize, usize), Delivery>,
    /// Deliveries that leave a loop which may run again.
    held: BTreeMap<(usize, usize), Delivery>,
    /// The agents that have begun or never will.
    settled: BTreeSet<usize>,
    outputs: BTreeMap<usize, String>,
    /// The number of times that each loop went back; none if it is over.
    iterations: Vec<Option<u64>>,
    error: Option<String>,
}

pub(crate) async fn run(
    flow: &Composed,
    graph: &FlowGraph,
    task: &str,
    host: &RunHost<'_>,
) -> ComposedRun {
    let runs = MemberRuns::new(host, Some(TIME));
    let mut scheduler = Scheduler {
        flow,
        graph,
        runs: &runs,
        deliveries: BTreeMap::new(),
        held: BTreeMap::new(),
        settled: BTreeSet::new(),
        outputs: BTreeMap::new(),
        iterations: vec![Some(0); graph.loops.len()],
        error: None,
    };
    scheduler.work(task).await;
    let output = scheduler.output();
    let late = || format!("Pipeline timed out after {}ms", TIME.as_millis());
    let error = scheduler.error.map(|error| if runs.is_late() { late() } else { error });
    runs.end(output, error)
}

impl<'a> Scheduler<'a> {
    async fn work(&mut self, task: &str) {
        let mut working: FuturesUnordered<LocalBoxFuture<'a, Ended>> = FuturesUnordered::new();
        self.settled.insert(self.graph.entry);
        working.push(self.begin(self.graph.entry, task.to_owned()));
        loop {
            while let Some((place, prompt)) = self.next_ready() {
                working.push(self.begin(place, prompt));
            }
            let Some(ended) = working.next().await else { return };
            if self.runs.is_interrupted() || self.runs.is_late() {
                self.error.get_or_insert_with(|| String::from("interrupted"));
                // What still runs is stopped as well; nothing follows.
                while working.next().await.is_some() {}
                return;
            }
            if let Some(begun) = self.take(ended) {
                working.push(begun);
            }
        }
    }

    /// The next agent all of whose sources are done, with its prompt.
    fn next_ready(&mut self) -> Option<(usize, String)> {
        for place in 0..self.flow.members.len() {
            if self.settled.contains(&place) {
                continue;
            }
            let sources = self.graph.sources(place);
            let arrived: Option<Vec<Delivery>> =
                sources.iter().map(|from| self.deliveries.get(&(*from, place)).cloned()).collect();
            let Some(arrived) = arrived else { continue };
            self.settled.insert(place);
            let is_text = |it: &Delivery| matches!(it, Delivery::Text(_));
            if arrived.contains(&Delivery::Failed) {
                self.pass_on(place, &Delivery::Failed, &[]);
            } else if !arrived.iter().any(is_text) {
                self.pass_on(place, &Delivery::Skipped, &[]);
            } else {
                let texts: Vec<String> = arrived
                    .into_iter()
                    .filter_map(|it| if let Delivery::Text(text) = it { Some(text) } else { None })
                    .collect();
                return Some((place, texts.join("\n\n---\n\n")));
            }
            // An agent before this one may have become ready.
            return self.next_ready();
        }
        None
    }

    fn begin(&self, place: usize, prompt: String) -> LocalBoxFuture<'a, Ended> {
        let (flow, graph, runs) = (self.flow, self.graph, self.runs);
        Box::pin(async move {
            let member = &flow.members[place];
            let run = runs.run(&member.name, &member.role, &prompt).await;
            let chosen = chosen(flow, graph, (place, &run), runs).await;
            Ended { runs: vec![(place, run)], winner: Ok(place), chosen }
        })
    }

    fn begin_ensemble(
        &self,
        candidates: &'a [usize],
        vote: &'a Vote,
        prompt: String,
    ) -> LocalBoxFuture<'a, Ended> {
        let (flow, graph, runs) = (self.flow, self.graph, self.runs);
        Box::pin(async move {
            let answers = candidates.iter().map(|place| {
                let member = &flow.members[*place];
                runs.run(&member.name, &member.role, &prompt)
            });
            let answers = join_all(answers).await;
            let outputs: Vec<&str> = answers.iter().map(|run| run.output.as_str()).collect();
            let winner = if answers.iter().all(|run| run.error.is_none()) {
                vote.winner(&prompt, &outputs, (runs, &flow.lead)).await
            } else {
                Ok(0)
            };
            let next = match winner {
                Ok(winner) => {
                    chosen(flow, graph, (candidates[winner], &answers[winner]), runs).await
                }
                Err(_) => Vec::new(),
            };
            let runs = candidates.iter().copied().zip(answers).collect();
            Ended { runs, winner: winner.map(|winner| candidates[winner]), chosen: next }
        })
    }

    /// Takes over the end of work. Returns the work that begins at once: a vote, or a loop.
    fn take(&mut self, ended: Ended) -> Option<LocalBoxFuture<'a, Ended>> {
        let Ended { runs, winner, chosen } = ended;
        let member = |place: &usize| &self.flow.members[*place].name;
        let failed = runs.iter().find_map(|(place, run)| {
            run.error.as_ref().map(|error| format!("{}: {error}", member(place)))
        });
        let winner = match (failed, winner) {
            (None, Ok(winner)) => winner,
            (Some(error), _) | (None, Err(error)) => {
                self.error.get_or_insert(error);
                for (place, _) in runs {
                    self.pass_on(place, &Delivery::Failed, &[]);
                }
                return None;
            }
        };
        let mut output = String::new();
        for (place, run) in runs {
            if place == winner {
                output = run.output;
            } else {
                self.pass_on(place, &Delivery::Skipped, &[]);
            }
        }
        for (number, way) in self.graph.loops.iter().enumerate() {
            if way.tails.contains(&winner) && self.goes_back(number, way, &output) {
                self.reset(way);
                return Some(self.begin(way.target, output));
            }
        }
        self.outputs.insert(winner, output.clone());
        let then = &self.graph.thens[winner];
        let ensemble = if let Route::Ensemble(vote) = &then.route {
            self.settled.extend(&then.to);
            Some(self.begin_ensemble(&then.to, vote, output.clone()))
        } else {
            None
        };
        self.pass_on(winner, &Delivery::Text(output), &chosen);
        ensemble
    }

    /// Counts a repetition of a loop. False if it is over.
    fn goes_back(&mut self, number: usize, way: &Loop, output: &str) -> bool {
        let Some(count) = self.iterations[number] else { return false };
        let is_met = way.until.as_ref().is_some_and(|until| until.is_met(output));
        let goes_back = !is_met && count < way.max_iterations && self.error.is_none();
        if goes_back {
            self.iterations[number] = Some(count + 1);
        }
        goes_back
    }

    /// Has the agents of a loop run again, from its target on.
    fn reset(&mut self, way: &Loop) {
        let region = &way.region;
        self.settled.retain(|place| !region.contains(place));
        self.settled.insert(way.target);
        self.outputs.retain(|place, _| !region.contains(place));
        self.deliveries.retain(|(from, to), _| !region.contains(from) || !region.contains(to));
        self.held.retain(|(from, _), _| !region.contains(from));
    }

    /// Delivers to the chosen targets of an agent; the others are skipped.
    fn pass_on(&mut self, place: usize, delivery: &Delivery, chosen: &[usize]) {
        for (number, way) in self.graph.loops.iter().enumerate() {
            // An agent of a loop that is done or fails without a return ends that loop.
            if way.tails.contains(&place)
                || *delivery == Delivery::Failed && way.region.contains(&place)
            {
                self.iterations[number] = None;
            }
        }
        for target in self.graph.targets(place) {
            let is_skipped = matches!(delivery, Delivery::Text(_)) && !chosen.contains(&target);
            let delivery = if is_skipped { &Delivery::Skipped } else { delivery };
            self.held.insert((place, target), delivery.clone());
        }
        let graph = self.graph;
        let iterations = &self.iterations;
        let is_held = |(from, to): &(usize, usize)| {
            graph.loops.iter().zip(iterations).any(|(way, count)| {
                count.is_some() && way.region.contains(from) && !way.region.contains(to)
            })
        };
        let (held, free) =
            std::mem::take(&mut self.held).into_iter().partition(|(edge, _)| is_held(edge));
        self.held = held;
        self.deliveries.extend::<BTreeMap<_, _>>(free);
    }

    /// The outputs that no other agent has read.
    fn output(&self) -> String {
        let is_read = |place: usize| {
            self.graph
                .targets(place)
                .any(|to| matches!(self.deliveries.get(&(place, to)), Some(Delivery::Text(_))))
        };
        let mut last: Vec<(&Member, &String)> = self
            .outputs
            .iter()
            .filter(|(place, _)| !is_read(**place))
            .map(|(place, output)| (&self.flow.members[*place], output))
            .collect();
        if last.len() == 1 {
            return last.pop().map(|(_, output)| output.clone()).unwrap_or_default();
        }
        let parts: Vec<String> =
            last.iter().map(|(member, output)| format!("**{}**\n{output}", member.name)).collect();
        parts.join("\n\n")
    }
}

/// The targets that get the output of an agent.
async fn chosen(
    flow: &Composed,
    graph: &FlowGraph,
    (place, run): (usize, &RoleRun),
    runs: &MemberRuns<'_>,
) -> Vec<usize> {
    if run.error.is_some() {
        return Vec::new();
    }
    let then = &graph.thens[place];
    let members: Vec<&Member> = then.to.iter().map(|target| &flow.members[*target]).collect();
    let only = match then.route {
        Route::All | Route::Ensemble(_) => None,
        _ if members.len() < 2 => None,
        Route::Keyword => Some(routing::keyword(&run.output, &members)),
        Route::Sense => Some(routing::sense(&run.output, &members, (runs, &flow.lead)).await),
    };
    let is_chosen = |target: &usize| match only {
        Some(only) => then.to[only] == *target || !then.to.contains(target),
        None => true,
    };
    graph.targets(place).filter(is_chosen).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::member_run::fake::FakeRunner;

    /// Answers with the name and the prompt, as in `b(a(do it))`.
    fn echo() -> FakeRunner {
        FakeRunner::new(|name, prompt| Ok(format!("{name}({prompt})")))
    }

    async fn output(runner: &FakeRunner, agents: &str) -> String {
        let run = runner.run(&format!("name: x\nagents:\n{agents}")).await;
        assert_eq!(run.error, None, "{agents}");
        run.output
    }

    #[tokio::test]
    async fn output_goes_along_the_graph() {
        let chain = "  a: {prompt: A., then: b}\n  b: B.\n";
        assert_eq!(output(&echo(), chain).await, "b(a(do it))");
        let after = "  b: {prompt: B., after: [a]}\n  a: A.\n";
        assert_eq!(output(&echo(), after).await, "b(a(do it))");
        let fork = "  a: {prompt: A., then: [b, c]}\n  b: B.\n  c: C.\n";
        assert_eq!(output(&echo(), fork).await, "**b**\nb(a(do it))\n\n**c**\nc(a(do it))");
        let join = "  a: {prompt: A., then: [b, c]}\n  c: {prompt: C., then: d}\n  \
                    b: {prompt: B., then: d}\n  d: D.\n";
        let joined = output(&echo(), join).await;
        assert_eq!(joined, "d(c(a(do it))\n\n---\n\nb(a(do it)))");
    }

    #[tokio::test]
    async fn routing_takes_one_way_and_joins_still_run() {
        let agents = "  a: {prompt: A., then: {to: [tech, bill], strategy: keyword}}\n  \
                      tech: {prompt: Fixes crashes., then: end}\n  \
                      bill: {prompt: Sends invoices., then: end}\n  end: E.\n";
        let runner = FakeRunner::new(|name, prompt| {
            Ok(if name == "a" { String::from("invoices") } else { format!("{name}({prompt})") })
        });
        assert_eq!(output(&runner, agents).await, "end(bill(invoices))");
        let sense = agents.replace("keyword", "sense");
        let runner = FakeRunner::new(|name, prompt| {
            Ok(match name {
                "a" => String::from("hello"),
                "x" => String::from("I choose bill."),
                _ => format!("{name}({prompt})"),
            })
        });
        assert_eq!(output(&runner, &sense).await, "end(bill(hello))");
    }

    #[tokio::test]
    async fn ensemble_passes_the_winner_on() {
        let agents = "  a: {prompt: A., then: {to: [b, c, d], strategy: ensemble, ensemble: \
                      {mode: majority}}}\n  b: {prompt: B., then: e}\n  c: {prompt: C., then: e}\n  \
                      d: {prompt: D., then: e}\n  e: E.\n";
        let runner = FakeRunner::new(|name, prompt| {
            Ok(match name {
                "a" | "b" => String::from("one"),
                "c" | "d" => String::from("two"),
                _ => format!("{name}({prompt})"),
            })
        });
        assert_eq!(output(&runner, agents).await, "e(two)");
    }

    #[tokio::test]
    async fn loop_goes_back_until_the_condition_holds() {
        let agents = "  plan: {prompt: P., then: write}\n  \
                      write: {prompt: W., then: {to: [review, log], loop_back: {target: write, \
                      max_iterations: 5, until: {output: '>=8'}}}}\n  \
                      review: {prompt: R., then: publish}\n  log: L.\n  publish: P.\n";
        let round = Cell::new(5);
        let runner = FakeRunner::new(move |name, prompt| {
            round.set(round.get() + u32::from(name == "review"));
            Ok(match name {
                "review" => format!("Score: {}", round.get()),
                _ => format!("{name}({prompt})"),
            })
        });
        let text = output(&runner, agents).await;
        assert_eq!(text, "**log**\nlog(write(Score: 7))\n\n**publish**\npublish(Score: 8)");
        let prompts = ["plan(do it)", "Score: 6", "Score: 7"];
        assert_eq!(runner.prompts_of("write"), prompts);
        assert_eq!(runner.prompts_of("plan").len(), 1);
        let endless = agents.replace("'>=8'", "'contains:DONE'");
        let runner = echo();
        output(&runner, &endless).await;
        assert_eq!(runner.prompts_of("review").len(), 6);
    }

    #[tokio::test]
    async fn failure_stops_its_branch_only() {
        let agents = "  a: {prompt: A., then: [b, c]}\n  b: {prompt: B., then: [d, e]}\n  c: {prompt: \
                      C., then: e}\n  d: D.\n  e: E.\n  f: {prompt: F., after: [c]}\n";
        let runner = FakeRunner::new(|name, prompt| match name {
            "b" => Err(String::from("no")),
            _ => Ok(format!("{name}({prompt})")),
        });
        let run = runner.run(&format!("name: x\nagents:\n{agents}")).await;
        assert_eq!(run.error.as_deref(), Some("b: no"));
        assert_eq!(run.output, "f(c(a(do it)))");
        assert!(runner.prompts_of("d").is_empty() && runner.prompts_of("e").is_empty());
    }
}
