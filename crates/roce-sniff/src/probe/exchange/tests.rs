//! Against the words of a Linux 6.12 server, and against those of a Linux client, byte by byte.

use super::*;
use roce_capture::FileReader;
use roce_wire::mad::cm::{CmAttribute, Mra, MraMessage};
use roce_wire::{CommId, Content, Frame, Link, Ports, Psn};

const MANNER: Manner = Manner {
    tries: 3,
    timeout: Duration::from_secs(1),
    patience: Duration::from_secs(10),
    complete: true,
};

/// One CM datagram of a capture.
struct Datagram {
    attribute: CmAttribute,
    bytes: [u8; 256],
    time_ns: u64,
}

/// The CM datagrams of a fixture, in order.
fn fixture(name: &str) -> Vec<Datagram> {
    let path = format!("{}/../../fixtures/rxe/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut file = FileReader::open(path.as_ref()).unwrap();
    let mut found = Vec::new();
    while let Some(captured) = file.next_frame().unwrap() {
        let len = captured.wire_len as usize;
        let frame = Frame::parse(Link::Ethernet, captured.data, len, &Ports::default());
        if let Content::Packet(_, packet) = &frame.content
            && let Ok(bytes) = <[u8; 256]>::try_from(packet.payload)
            && let Ok(management) = Management::parse(&bytes)
            && let Some(attribute) = management.cm_attribute()
        {
            found.push(Datagram { attribute, bytes, time_ns: captured.time_ns.unwrap() });
        }
    }
    found
}

fn parse(bytes: &[u8; 256]) -> Management<'_> {
    Management::parse(bytes).unwrap()
}

fn of(datagrams: &[Datagram], attribute: CmAttribute) -> &Datagram {
    datagrams.iter().find(|datagram| datagram.attribute == attribute).unwrap()
}

/// An exchange that asks what the capture's client asked.
fn as_client(datagrams: &[Datagram], manner: Manner) -> Exchange {
    let management = parse(&of(datagrams, CmAttribute::Req).bytes);
    let Some(CmMessage::Req(req)) = management.message else { panic!("no REQ") };
    Exchange::new(manner, *req, management.mad.transaction_id())
}

fn at(millis: u64) -> Moment {
    Moment { at: Duration::from_millis(millis), stamp_ns: None }
}

fn all(exchange: &mut Exchange, millis: u64) -> Vec<Gmp> {
    std::iter::from_fn(|| exchange.poll(Duration::from_millis(millis))).collect()
}

fn names(sent: &[Gmp]) -> Vec<&'static str> {
    sent.iter().map(|gmp| parse(gmp.bytes()).message.unwrap().name()).collect()
}

#[test]
fn a_connection_is_made_and_ended_in_linuxs_words() {
    let datagrams = fixture("rping_v4");
    let said = |attribute| of(&datagrams, attribute).bytes;
    let mut exchange = as_client(&datagrams, MANNER);
    let sent = all(&mut exchange, 0);
    assert_eq!((sent.len(), *sent[0].bytes()), (1, said(CmAttribute::Req)));
    assert!(exchange.receive(&parse(&said(CmAttribute::Rep)), at(2)));
    let sent = all(&mut exchange, 2);
    assert_eq!(sent.len(), 2);
    assert_eq!(*sent[0].bytes(), said(CmAttribute::Rtu));
    assert_eq!(*sent[1].bytes(), said(CmAttribute::Dreq));
    assert!(exchange.receive(&parse(&said(CmAttribute::Drep)), at(5)));
    assert!(exchange.is_over());
    let outcome = exchange.outcome();
    assert_eq!((outcome.requests, outcome.after), (1, Some(Duration::from_millis(2))));
    let ending = Ending { requests: 1, after: Some(Duration::from_millis(3)) };
    assert_eq!(outcome.ending, Some(ending));
    assert_eq!(outcome.ca_guid(), Some(Guid::new(0x0000_00ff_fe77_0002)));
}

#[test]
fn a_connection_that_is_not_wanted_is_refused_as_often_as_it_is_offered() {
    let datagrams = fixture("rping_v4");
    let rep = of(&datagrams, CmAttribute::Rep).bytes;
    let mut exchange = as_client(&datagrams, Manner { complete: false, ..MANNER });
    all(&mut exchange, 0);
    for millis in [2, 270] {
        assert!(exchange.receive(&parse(&rep), at(millis)));
        let sent = all(&mut exchange, millis);
        assert_eq!(names(&sent), ["REJ"]);
        let Some(CmMessage::Rej(rej)) = parse(sent[0].bytes()).message else { panic!() };
        assert_eq!(rej.reason, RejReason::CONSUMER_DEFINED);
        assert_eq!(rej.message(), RejectedMessage::REP);
        assert!(!exchange.is_over());
    }
    assert_eq!(names(&all(&mut exchange, 602)), [""; 0]);
    assert!(exchange.is_over());
    assert!(matches!(exchange.outcome().answer, Answer::Rep(_)));
}

#[test]
fn a_refusal_is_an_answer() {
    for (name, reason, text) in [
        ("cm_reject", RejReason::INVALID_SERVICE_ID, "invalid service id"),
        ("cm_reject_consumer", RejReason::CONSUMER_DEFINED, "consumer defined"),
    ] {
        let datagrams = fixture(name);
        let mut exchange = as_client(&datagrams, MANNER);
        all(&mut exchange, 0);
        assert!(exchange.receive(&parse(&of(&datagrams, CmAttribute::Rej).bytes), at(1)));
        assert!(exchange.is_over() && exchange.outcome().is_answered());
        let Answer::Rej(rej) = exchange.outcome().answer else { panic!("{name}") };
        assert_eq!((rej.reason, rej.reason.to_string().as_str()), (reason, text));
    }
}

/// The REJ of the last frame is what Linux says when it gives up.
#[test]
fn silence_ends_after_the_tries_with_linuxs_last_word() {
    let datagrams = fixture("cm_req_timeout");
    let mut exchange = as_client(&datagrams, MANNER);
    for millis in [0, 1000, 2000] {
        assert_eq!(names(&all(&mut exchange, millis)), ["REQ"]);
        assert!(all(&mut exchange, millis + 999).is_empty());
    }
    let sent = all(&mut exchange, 3000);
    assert_eq!(sent.len(), 1);
    assert_eq!(*sent[0].bytes(), datagrams.last().unwrap().bytes);
    assert!(exchange.is_over());
    let outcome = exchange.outcome();
    assert!(matches!(outcome.answer, Answer::Silence));
    assert_eq!((outcome.requests, outcome.after), (3, None));
}

#[test]
fn a_server_that_asks_for_time_gets_it_within_limits() {
    let datagrams = fixture("cm_mra");
    let said = |attribute| of(&datagrams, attribute).bytes;
    let mut exchange = as_client(&datagrams, MANNER);
    all(&mut exchange, 0);
    assert!(exchange.receive(&parse(&said(CmAttribute::Mra)), at(500)));
    assert!(all(&mut exchange, 9_000).is_empty());
    // The capture's server answers after 7 s.
    let mut patient = as_client(&datagrams, MANNER);
    all(&mut patient, 0);
    patient.receive(&parse(&said(CmAttribute::Mra)), at(500));
    patient.receive(&parse(&said(CmAttribute::Rep)), at(7_500));
    assert_eq!(names(&all(&mut patient, 7_500)), ["RTU", "DREQ"]);
    assert!(matches!(patient.outcome().answer, Answer::Rep(_)));
    let (asked, when) = patient.outcome().mra.unwrap();
    assert_eq!((asked.to_string().as_str(), when), ("68.7 s", Duration::from_millis(500)));
    assert_eq!(patient.outcome().after, Some(Duration::from_millis(7_500)));
    // It asked for 68.7 s; 10 s are enough, and a second MRA does not add to them.
    exchange.receive(&parse(&said(CmAttribute::Mra)), at(9_500));
    assert!(all(&mut exchange, 10_499).is_empty());
    assert_eq!(names(&all(&mut exchange, 10_500)), ["REJ"]);
    assert!(exchange.is_over());
    assert!(matches!(exchange.outcome().answer, Answer::Mra));
    assert_eq!(exchange.outcome().after, Some(Duration::from_millis(500)));
}

/// Ten connections at once: each exchange takes its own answers and no other's.
#[test]
fn answers_to_others_are_not_taken() {
    let datagrams = fixture("cmtime_v4");
    let mut taken = 0;
    for request in datagrams.iter().filter(|one| one.attribute == CmAttribute::Req) {
        let mut exchange = as_client(std::slice::from_ref(request), MANNER);
        all(&mut exchange, 0);
        exchange.seen(&parse(&request.bytes), Moment { stamp_ns: Some(request.time_ns), ..at(0) });
        for one in datagrams.iter().filter(|one| one.attribute == CmAttribute::Rep) {
            let moment = Moment { stamp_ns: Some(one.time_ns), ..at(1) };
            if exchange.receive(&parse(&one.bytes), moment) {
                taken += 1;
                // The time is the capture's, not this clock's.
                let gone = Duration::from_nanos(one.time_ns - request.time_ns);
                assert_eq!(exchange.outcome().after, Some(gone));
            }
        }
        assert!(matches!(exchange.outcome().answer, Answer::Rep(_)));
    }
    assert_eq!(taken, 10);
}

#[test]
fn a_wrong_transaction_is_not_an_answer() {
    let datagrams = fixture("rping_v4");
    let mut exchange = as_client(&datagrams, MANNER);
    all(&mut exchange, 0);
    let mut rep = of(&datagrams, CmAttribute::Rep).bytes;
    rep[8] ^= 1;
    assert!(!exchange.receive(&parse(&rep), at(1)));
    assert!(matches!(exchange.outcome().answer, Answer::Silence));
}

#[test]
fn a_server_that_ends_the_connection_itself_is_answered() {
    let datagrams = fixture("rping_v4");
    let mut exchange = as_client(&datagrams, MANNER);
    all(&mut exchange, 0);
    // Before there is a connection there is nothing to end.
    let ours = exchange.req.local_comm_id;
    let dreq = Dreq::new(CommId::new(0xc385_2c6d), ours, roce_wire::Qpn::new(0x11));
    let dreq = Gmp::cm(77, CmMessage::Dreq(&dreq));
    exchange.receive(&parse(dreq.bytes()), at(1));
    assert!(all(&mut exchange, 1).is_empty());
    exchange.receive(&parse(&of(&datagrams, CmAttribute::Rep).bytes), at(2));
    assert_eq!(names(&all(&mut exchange, 2)), ["RTU", "DREQ"]);
    exchange.receive(&parse(dreq.bytes()), at(3));
    let sent = all(&mut exchange, 3);
    assert_eq!(names(&sent), ["DREP"]);
    assert_eq!(parse(sent[0].bytes()).mad.transaction_id(), 77);
    // Its DREP to our DREQ is still to come; without it, DREQ is said again, then no more.
    assert!(!exchange.is_over());
    assert_eq!(names(&all(&mut exchange, 1_002)), ["DREQ"]);
    assert_eq!(names(&all(&mut exchange, 2_002)), ["DREQ"]);
    assert!(all(&mut exchange, 3_002).is_empty());
    assert!(exchange.is_over());
    assert_eq!(exchange.outcome().ending, Some(Ending { requests: 3, after: None }));
}

#[test]
fn icmp_settles_it_where_nobody_listens_and_not_where_the_way_is_blocked() {
    let datagrams = fixture("rping_v4");
    let from = "10.77.0.2".parse().unwrap();
    let blocked = Unreachable { from, code: 1, is_port: false };
    let mut exchange = as_client(&datagrams, MANNER);
    all(&mut exchange, 0);
    exchange.take_icmp(blocked, at(1));
    assert!(!exchange.is_over());
    // A REP after all: what ICMP said is forgotten, its time too.
    let mut lucky = as_client(&datagrams, MANNER);
    all(&mut lucky, 0);
    lucky.take_icmp(blocked, at(1));
    lucky.receive(&parse(&of(&datagrams, CmAttribute::Rep).bytes), at(9));
    assert!(matches!(lucky.outcome().answer, Answer::Rep(_)));
    assert_eq!(lucky.outcome().after, Some(Duration::from_millis(9)));
    exchange.take_icmp(Unreachable { from, code: 3, is_port: true }, at(2));
    assert!(exchange.is_over());
    assert!(!exchange.outcome().is_answered());
}

#[test]
fn what_was_begun_is_undone_on_ctrl_c() {
    let datagrams = fixture("rping_v4");
    let mut fresh = as_client(&datagrams, MANNER);
    fresh.abandon(Duration::ZERO);
    assert!(fresh.is_over());
    let mut asking = as_client(&datagrams, MANNER);
    all(&mut asking, 0);
    asking.abandon(Duration::from_millis(1));
    assert_eq!(names(&all(&mut asking, 1)), ["REJ"]);
    assert!(asking.is_over());
    let mut accepted = as_client(&datagrams, MANNER);
    all(&mut accepted, 0);
    accepted.receive(&parse(&of(&datagrams, CmAttribute::Rep).bytes), at(1));
    accepted.abandon(Duration::from_millis(1));
    assert_eq!(names(&all(&mut accepted, 1)), ["RTU", "DREQ"]);
}

proptest::proptest! {
    /// Whatever comes and however time passes: it ends, and it sends no more than it may.
    #[test]
    fn it_always_ends(
        steps in proptest::collection::vec((0u8..8, 0u64..3_000), 0..40), complete: bool,
    ) {
        let mut exchange = Exchange::new(
            Manner { complete, ..MANNER },
            Req::new(CommId::new(7), roce_wire::ServiceId::new(0x0106_1d2f),
                roce_wire::mad::cm::Path::NONE),
            9,
        );
        let (us, them) = (CommId::new(7), CommId::new(8));
        let (mut now, mut sent) = (0, 0);
        for (kind, wait) in &steps {
            now += wait;
            sent += all(&mut exchange, now).len();
            let rep = Rep::new(them, us, roce_wire::Qpn::new(1), Psn::new(2));
            let rej = Rej::new(them, us, RejectedMessage::REQ, RejReason::INVALID_SERVICE_ID);
            let mra = Mra::new(them, us, MraMessage::REQ, CmTimeout(*kind * 3));
            let dreq = Dreq::new(them, us, roce_wire::Qpn::new(1));
            let drep = Drep::new(them, us);
            let gmp = match kind {
                0 => Gmp::cm(9, CmMessage::Rep(&rep)),
                1 => Gmp::cm(9, CmMessage::Rej(&rej)),
                2 => Gmp::cm(3, CmMessage::Dreq(&dreq)),
                3 => Gmp::cm(9, CmMessage::Drep(&drep)),
                4..=6 => Gmp::cm(9, CmMessage::Mra(&mra)),
                _ => { exchange.abandon(Duration::from_millis(now)); continue }
            };
            exchange.receive(&parse(gmp.bytes()), at(now));
        }
        for _ in 0..20 {
            now += 1_000;
            sent += all(&mut exchange, now).len();
        }
        proptest::prop_assert!(exchange.is_over());
        proptest::prop_assert!(sent <= steps.len() + 7);
        let _ = exchange.outcome();
    }
}
